# make demo: set up, build, and let the built-in model answer.   make test: set up, build, all tests.
JOBS ?= 2
BUILD = cmake --preset $(1) -Wno-dev >/dev/null && cmake --build --preset $(1) -j$(JOBS)

.PHONY: demo test fast build dev fuzz check format setup

demo: build
	build/release/shoal run

# Optimised build with every test; sanitized build with the fast ones; each fuzzer for a minute.
test: setup-peers
	$(call BUILD,release)
	tools/check
	ctest --preset release
	$(call BUILD,dev)
	ctest --preset dev -L fast
	$(call BUILD,fuzz)
	tools/fuzz 60

# What to run before every commit.
fast: build
	tools/check
	ctest --preset release -L fast

build: setup
	$(call BUILD,release)

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

setup:
	tools/setup

setup-peers:
	tools/setup peers
