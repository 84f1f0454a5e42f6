# A short front for CMake, so that one word does. `make help` lists the words.
#
# Variables: NAME (get-model), PREFIX and DESTDIR (install, uninstall), FUZZ_SECONDS (each fuzzer),
# HOURS and SEED (endurance), FR_WERROR=ON (warnings are errors), JOBS (0: as many as there are cores), FR_MODELS (where models lie).
.PHONY: all build lab build-all packages run serve test sanitize asan ubsan tsan fuzz endurance bench papers links get-model \
        install uninstall deb wheel wheel-test levels format clean help

PREFIX = /usr/local
FUZZ_SECONDS = 60
FR_WERROR = OFF
JOBS = 0
MODELS = "$$(realpath -m "$${FR_MODELS:-models}")"

# $(call build_preset,PRESET,FOLDER[,TARGETS]): configure quietly, then build everything or TARGETS.
jobs = $$(test $(JOBS) -gt 0 && echo $(JOBS) || nproc)
build_preset = cmake --preset $(1) $(if $(filter deb,$(1)),,-DCMAKE_INSTALL_PREFIX="$(PREFIX)") -DFR_WERROR=$(FR_WERROR) >$(1).cmake.log 2>&1 \
               && mv -f $(1).cmake.log $(2)/configure.log \
               || { cat $(1).cmake.log >&2; rm -f $(1).cmake.log; exit 1; }; \
               cmake --build --preset $(1) --parallel $(jobs) $(if $(3),--target $(3))
# Tests of a sanitizer build: all but the slow ones. FR_QUICK asks long tests for less.
sanitized_tests = FR_MODELS=$(MODELS) FR_QUICK=1 ctest --test-dir $(1) --output-on-failure \
                  --parallel $(jobs) --label-exclude slow

# Programs find a shared library by the loader's list, which root alone can write.
ldconfig = test -n "$(DESTDIR)" || test "$$(id -u)" != 0 || ! command -v ldconfig >/dev/null || ldconfig

all: build

build: packages ## build the library and the program, build/forerun
	@$(call build_preset,release,build,forerun libforerun libforerun_shared)

lab: packages ## build what repeats the papers' rows, build/forerun-lab
	@$(call build_preset,release,build,forerun-lab)

build-all: packages ## build the tests too
	@$(call build_preset,release,build)

packages: ## install the Debian packages that are missing
	@tools/install-packages.sh

run: build ## fetch a small model, answer a prompt with and without drafting, compare
	@tools/get-model.sh smollm2-135m
	@tools/demo.sh

serve: build ## answer OpenAI's API with a small model, at port 8080
	@tools/get-model.sh smollm2-135m
	@echo "try: curl localhost:8080/v1/chat/completions -d '{\"messages\":[{\"role\":\"user\",\"content\":\"Name three rivers.\"}]}'"
	@build/forerun serve -m $(MODELS)/smollm2-135m.gguf

test: build-all ## run every test, long ones in their quick form
	@tools/get-model.sh smollm2-135m || echo "make test: going on without the model; its tests skip" >&2
	@FR_MODELS=$(MODELS) FR_QUICK=1 ctest --test-dir build --output-on-failure --parallel $(jobs)

sanitize: packages ## run the tests with AddressSanitizer and UndefinedBehaviorSanitizer together
	@$(call build_preset,sanitize,build-sanitize)
	@$(call sanitized_tests,build-sanitize)

asan ubsan tsan: packages ## run the tests with one sanitizer
	@$(call build_preset,$@,build-$@)
	@$(call sanitized_tests,build-$@)

fuzz: ## run every fuzzer for FUZZ_SECONDS
	@tools/install-packages.sh clang
	@$(call build_preset,fuzz,build-fuzz)
	@tools/fuzz.sh build-fuzz $(FUZZ_SECONDS)

endurance: build-all ## the long tests whole, then a storm, sabotage and random command lines, 18 minutes or HOURS
	@FR_MODELS=$(MODELS) ctest --test-dir build --output-on-failure --parallel $(jobs) --label-regex long
	@build/tests/bin/tiny_models build/tests/tiny >tiny_models.log 2>&1 \
		&& rm tiny_models.log || { cat tiny_models.log >&2; exit 1; }
	@bench/serve/storm.py --tiny build/tests/tiny --seconds $$(awk 'BEGIN { print 720 * $(or $(HOURS),0.25) }')
	@tests/endurance/endurance.py --minutes $$(awk 'BEGIN { print 60 * $(or $(HOURS),0.25) }') \
		--models $(MODELS) $(if $(SEED),--seed $(SEED))

bench: build-all ## time the kernels, and passes of 1 to 64 rows
	@build/tests/bin/checkkern --bench
	@tools/get-model.sh smollm2-135m
	@build/forerun curve -m $(MODELS)/smollm2-135m.gguf

papers: lab ## what tables of docs/papers are made from: PROMPTS='FILES' [WORK=DIR] [PARTS=NAME,...] [STATUS=1]
	@bench/papers/papers.py --models $(MODELS) --prompts "$(PROMPTS)" --work "$(or $(WORK),papers-work)" \
		$(if $(PARTS),--parts "$(PARTS)") $(if $(STATUS),--status)

get-model: packages ## fetch a model: make get-model NAME=smollm2-135m
	@tools/get-model.sh "$(NAME)"

install: build ## install into PREFIX (default /usr/local)
	@umask 022; DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
	@mv -f build/install_manifest.txt build/installed.txt
	@$(ldconfig)

uninstall: ## remove what the last make install put there
	@tools/uninstall.sh build/installed.txt "$(DESTDIR)"
	@rm build/installed.txt
	@$(ldconfig)

deb: ## build Debian's packages, build-deb/*.deb
	@tools/install-packages.sh deb
	@$(call build_preset,deb,build-deb)
	@cd build-deb && rm -f *.deb && cpack >cpack.log 2>&1 || { cat cpack.log >&2; exit 1; }
	@ls -sh1 build-deb/*.deb

wheel: build ## build the Python package, build-wheel/dist/forerun-*.whl
	@python/build-wheel.sh

wheel-test: wheel ## install it into a fresh environment and run its tests
	@tools/get-model.sh smollm2-135m
	@FR_MODELS=$(MODELS) tests/judges/python_wheel.sh

levels: ## check that includes go down only
	@tools/check-levels.sh

links: ## check that links between the pages lead somewhere
	@tools/check-links.sh

format: ## lay out the C files with clang-format
	@tools/format.sh --fix

clean: ## remove what was built (models stay)
	rm -rf build build-debug build-deb build-asan build-ubsan build-tsan build-sanitize build-fuzz build-wheel

help: ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
