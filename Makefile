# Every target is self-sufficient: it installs what it lacks (see scripts/tools). The logic is in scripts/.
.DEFAULT_GOAL := help
.PHONY: help run image test lint bench bench-cluster test-long fuzz peers

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-13s %s\n", $$1, $$2 }'

run: ## build the server and serve the example on a high port
	@scripts/run

image: ## the server as an OCI archive for container runtimes and registries
	@scripts/image

test: ## everything that must be green: lint, the real peers, budgets, all tests, 20 s of each fuzz target
	@scripts/test

lint: ## formatting, clippy, dependencies (bans, licenses, sources), text rules
	@scripts/lint

bench: ## CPU per query beside CoreDNS, Unbound, Knot, NSD and a bare echo
	@scripts/bench

bench-cluster: ## starts, memory and watches on large clusters beside CoreDNS
	@scripts/bench-cluster

test-long: ## what takes longer, in parts of an hour: make test-long PART=compare|faults|load|observers|fuzz
	@scripts/test-long $(PART)

fuzz: ## fuzz each target with libFuzzer for SECONDS (default 600)
	@scripts/fuzz $(or $(SECONDS),600)

peers: ## build the real CoreDNS, kube-apiserver and all others into the user's cache
	@peers/build all
