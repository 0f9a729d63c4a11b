"""The comment step of the action: one comment on the pull request, made once and then updated.

It never fails the job: without a pull request, a token or the permission (a pull request from a
fork has none) a notice says so, and the table stands in the step summary all the same.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

# Hidden in the comment, to find it again.
MARK = "<!-- audit gate -->"
PAGE = 100


class GitHub:
    """The four calls of the API that are needed."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.url = os.environ.get("GITHUB_API_URL", "https://api.github.com")

    def call(self, method: str, path: str, body: dict[str, str] | None = None) -> Any:
        """Return what the API answers, as JSON."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "User-Agent": "audit-gate",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def own_comment(self, issue: str) -> int | None:
        """Return the comment that was made before; another's with the same mark is left alone."""
        page = 1
        while True:
            path = f"{issue}/comments?per_page={PAGE}&page={page}"
            comments = self.call("GET", path)
            for comment in comments:
                is_bot = comment["user"]["type"] == "Bot"
                if is_bot and comment["body"].startswith(MARK):
                    return int(comment["id"])
            if len(comments) < PAGE:
                return None
            page += 1

    def keep(self, repository: str, number: int, text: str) -> str:
        """Make or update the comment, and return which of the two was done."""
        found = self.own_comment(f"/repos/{repository}/issues/{number}")
        body = {"body": f"{MARK}\n{text}"}
        if found is None:
            self.call("POST", f"/repos/{repository}/issues/{number}/comments", body)
            return "made"
        self.call("PATCH", f"/repos/{repository}/issues/comments/{found}", body)
        return "updated"


def pull_request() -> int | None:
    """Return the number of the pull request the event is about."""
    try:
        event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        return int(event["pull_request"]["number"])
    except (KeyError, OSError, ValueError, TypeError):
        return None


def notice(why: str) -> None:
    """Say why there is no comment."""
    print(f"::notice title=audit gate::No comment: {why}. The table is in the step summary.")


def main() -> int:
    """Keep the comment; the status is always 0."""
    token, number = os.environ.get("AUDIT_TOKEN", ""), pull_request()
    summary = Path(os.environ.get("AUDIT_SUMMARY") or os.devnull)
    text = summary.read_text(encoding="utf-8") if summary.is_file() else ""
    if number is None:
        notice("this event is about no pull request")
    elif not token:
        notice("there is no token")
    elif not text:
        notice("the gate could not run")
    else:
        try:
            done = GitHub(token).keep(os.environ["GITHUB_REPOSITORY"], number, text)
            print(f"comment {done}")
        except urllib.error.HTTPError as error:
            hint = " (a fork's token may not write)" if error.code in (401, 403, 404) else ""
            notice(f"GitHub answered {error.code}{hint}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            notice(f"GitHub was not reached or answered oddly: {type(error).__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
