# shellcheck shell=bash
# filled below
run_checked() { :; }
