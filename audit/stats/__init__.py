"""Statistics: arrays in, frozen records out; knows no JSON, no rules, no pages."""
