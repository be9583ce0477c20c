# SPDX-License-Identifier: BSD-3-Clause
# Coffer's build.  `make help` lists what it can do; GNU make and pkg-config are needed, scripts/setup installs
# them and the libraries on Debian and Ubuntu.
#
# Sources are found by wildcard: a new src/cmd/x.c, storage/x.c, net/x.c or tests/unit/test_x.c needs no line here.
# Every variant of the program has a directory of its own, so switching between them builds nothing twice.

BUILD   ?= build
VARIANT ?= release
PYTHON  ?= /usr/bin/python3
PKGS    := lmdb libevent libevent_pthreads libxxhash inih

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# ---- Variants: OUT is where one is built, OPT what makes it different.

harden := -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
ifeq ($(VARIANT),release)
  OUT := $(BUILD)
  OPT := -O2 -g $(harden)
else ifeq ($(VARIANT),check)
  # What `make check` builds and tests: the release, with warnings as errors.
  OUT := $(BUILD)/check
  OPT := -O2 -g $(harden) -Werror
else ifeq ($(VARIANT),debug)
  OUT := $(BUILD)/debug
  OPT := -O1 -g -DCOFFER_DEBUG -fno-omit-frame-pointer
else ifeq ($(VARIANT),asan)
  OUT := $(BUILD)/asan
  OPT := -O1 -g -DCOFFER_DEBUG -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
else ifeq ($(VARIANT),tsan)
  OUT := $(BUILD)/tsan
  OPT := -O1 -g -DCOFFER_DEBUG -fno-omit-frame-pointer -fsanitize=thread
else ifeq ($(VARIANT),fuzz)
  # For `make fuzz`; the library that drives the fuzz targets is clang's.
  CC  := clang
  OUT := $(BUILD)/fuzz
  OPT := -O1 -g -DCOFFER_DEBUG -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
         -fno-sanitize-recover=all
else
  $(error VARIANT is one of release, check, debug, asan, tsan, fuzz; not '$(VARIANT)')
endif

export ASAN_OPTIONS  ?= abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS ?= print_stacktrace=1
# Its own search for deadlocks gives up at 64 held locks, and flush_all holds every stripe; lock.c does the search.
export TSAN_OPTIONS  ?= halt_on_error=1:detect_deadlocks=0:suppressions=$(CURDIR)/tests/tsan.supp

# ---- Flags.  CFLAGS, CPPFLAGS, LDFLAGS and LDLIBS stay the caller's.

# Targets that compile nothing must work where pkg-config is missing.
ifneq ($(filter-out clean help setup check check-asan check-tsan check-debug check-lint,$(or $(MAKECMDGOALS),all)),)
  needed := $(PKGS) $(if $(filter-out all lib run bench bench-full,$(MAKECMDGOALS)),cmocka)
  ifneq ($(shell pkg-config --exists $(needed) && echo found),found)
    $(error pkg-config does not find all of: $(needed).  scripts/setup installs them)
  endif
  pkg_cflags  := $(shell pkg-config --cflags $(PKGS))
  pkg_libs    := $(shell pkg-config --libs $(PKGS))
  cmocka_libs := $(shell pkg-config --libs cmocka 2>/dev/null)
endif

warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wconversion \
            -Wno-sign-conversion -Wvla
cppflags := -I. -D_GNU_SOURCE $(pkg_cflags)
cflags   := -std=gnu11 -pthread -fPIE $(warnings) $(OPT)
ldflags  := -pthread -pie -Wl,-z,relro,-z,now,-z,noexecstack $(filter -fsanitize=%,$(OPT))
compile   = $(CC) $(cppflags) $(cflags) $(CPPFLAGS) $(CFLAGS)
link      = $(CC) $(ldflags) $(CFLAGS) $(LDFLAGS)

# ---- Sources and what is made of them.

# The rooms below net/ work without those above: ROOMS='src/base storage' builds a library of these alone.
ROOMS       ?= src src/base src/cmd storage net
main_src    := $(if $(filter src,$(ROOMS)),$(wildcard src/main.c))
lib_src     := $(filter-out src/main.c,$(wildcard $(addsuffix /*.c,$(ROOMS))))
support_src := $(wildcard tests/unit/support_*.c)
unit_src    := $(wildcard tests/unit/test_*.c)
crash_src   := $(wildcard tests/crash/*.c)
fuzz_src    := $(wildcard tests/fuzz/fuzz_*.c)
fuzz_parts  := $(filter-out $(fuzz_src),$(wildcard tests/fuzz/*.c))
micro_src   := $(wildcard bench/micro_*.c)
bench_src   := $(filter-out bench/coffer-bench.c $(micro_src),$(wildcard bench/*.c))
all_src     := $(main_src) $(lib_src) $(support_src) $(unit_src) $(crash_src) $(fuzz_src) $(fuzz_parts) \
               bench/coffer-bench.c $(bench_src) $(micro_src)

object      = $(patsubst %.c,$(OUT)/obj/%.o,$(1))
library    := $(OUT)/libcoffer.a
support    := $(if $(support_src),$(OUT)/libsupport.a)
server     := $(if $(main_src),$(OUT)/cofferd)
generator  := $(OUT)/libbench.a
unit_bin   := $(patsubst tests/unit/%.c,$(OUT)/unit/%,$(unit_src))
crash_bin  := $(patsubst tests/crash/%.c,$(OUT)/crash/%,$(crash_src))
fuzz_bin   := $(patsubst tests/fuzz/%.c,$(OUT)/%,$(fuzz_src))
micro_bin  := $(patsubst bench/%.c,$(OUT)/%,$(micro_src))

.PHONY: all lib tests micro build run setup clean help force fuzz run-fuzz check check-asan check-tsan check-debug \
        check-lint check-build check-clang check-hardening check-unit check-script check-crash check-libraries \
        check-clients check-bench bench bench-full

all: $(library) $(server) $(OUT)/coffer-bench
lib: $(library)
tests: $(unit_bin) $(crash_bin)
micro: $(micro_bin)
build: all tests

# One short line a step; V=1 shows the commands.
say = $(if $(V),,@echo '$(1)' $(patsubst $(OUT)/%,%,$@);)

# A file that changes only when its text does: what depends on it is made again when flags or lists change.
define keep_text
	@mkdir -p $(@D)
	@printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' >$@
endef
$(OUT)/flags.txt: force
	$(call keep_text,$(compile) / $(link))
$(OUT)/objects.txt: force
	$(call keep_text,$(lib_src) / $(support_src) / $(bench_src))

$(OUT)/obj/%.o: %.c $(OUT)/flags.txt
	@mkdir -p $(@D)
	$(call say,CC  )$(compile) -MMD -MP -c -o $@ $<

$(library): $(call object,$(lib_src))
$(support): $(call object,$(support_src))
$(generator): $(call object,$(bench_src))
$(library) $(support) $(generator): $(OUT)/objects.txt
	@rm -f $@
	$(call say,AR  )ar rcsD $@ $(filter %.o,$^)

$(OUT)/cofferd: $(call object,$(main_src)) $(library)
	$(call say,LINK)$(link) -o $@ $^ $(pkg_libs) $(LDLIBS)

$(OUT)/coffer-bench: $(call object,bench/coffer-bench.c) $(generator) $(library)
	$(call say,LINK)$(link) -o $@ $^ -lm $(LDLIBS)

$(OUT)/micro_%: $(OUT)/obj/bench/micro_%.o $(library)
	$(call say,LINK)$(link) -o $@ $^ -lm $(pkg_libs) $(LDLIBS)

$(OUT)/unit/%: $(OUT)/obj/tests/unit/%.o $(support) $(generator) $(library)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(cmocka_libs) -lm $(pkg_libs) $(LDLIBS)

$(OUT)/crash/%: $(OUT)/obj/tests/crash/%.o $(library)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(pkg_libs) $(LDLIBS)

$(OUT)/fuzz_%: $(OUT)/obj/tests/fuzz/fuzz_%.o $(call object,$(fuzz_parts)) $(library)
	$(call say,LINK)$(link) -fsanitize=fuzzer -o $@ $^ $(pkg_libs) $(LDLIBS)

# Objects of tests are kept, not removed as intermediate.
.SECONDARY:

-include $(patsubst %.o,%.d,$(call object,$(all_src)))

# ---- Running.

run: all
	$(OUT)/cofferd $(ARGS)

setup:
	scripts/setup

# ---- Testing.  Each stage ends with a line "stage: N passed, N failed"; scripts/suite runs them and adds up.

check:
	+@scripts/suite VARIANT=check lint build clang hardening unit script crash libraries bench
check-debug check-asan check-tsan: check-%:
	+@scripts/suite VARIANT=$* build unit script crash libraries bench

check-lint:
	@scripts/lint/all

check-build: build
	@echo 'build: 1 passed, 0 failed'

# The other compiler only reads the sources: enough for its warnings, and quick.
clang_seen := $(patsubst %.c,$(OUT)/clang/%.seen,$(all_src))
$(OUT)/clang/%.seen: %.c $(OUT)/flags.txt
	@mkdir -p $(@D)
	@clang $(cppflags) -std=gnu11 $(warnings) -Werror -fsyntax-only -MMD -MP -MT $@ -MF $(@:.seen=.d) $<
	@touch $@
-include $(if $(filter check-clang,$(MAKECMDGOALS)),$(clang_seen:.seen=.d))
check-clang: $(clang_seen)
	@echo 'clang: $(words $(clang_seen)) passed, 0 failed'

check-hardening: all
	@scripts/hardening $(OUT)/cofferd $(library)

check-unit: $(if $(TEST),$(OUT)/unit/test_$(TEST),$(unit_bin))
	@scripts/unit-tests $^

check-script check-crash check-bench: check-%: build
	@$(PYTHON) tests/$*/run.py --server $(OUT)/cofferd $(ARGS)

# The client libraries that scripts/setup installs; and all there are, with web frameworks and a proxy.
check-libraries: build
	@$(PYTHON) tests/clients/run.py --quick --server $(OUT)/cofferd $(ARGS)
check-clients: all
	@scripts/setup-clients
	@$(PYTHON) tests/clients/run.py --server $(OUT)/cofferd $(ARGS)

# Parsers and composers with made-up input.  An input that breaks a rule is kept as $(OUT)/NAME-crash-...
FUZZ_SECONDS ?= 60
fuzz:
	+@$(MAKE) --no-print-directory VARIANT=fuzz run-fuzz
run-fuzz: $(fuzz_bin)
	@$(PYTHON) tests/fuzz/seeds.py $(OUT)/corpus
	@set -e; for name in $(patsubst $(OUT)/fuzz_%,%,$(fuzz_bin)); do \
	    $(OUT)/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=10 -print_final_stats=1 \
	        -dict=$(OUT)/corpus/$$name.dict -artifact_prefix=$(OUT)/$$name- $(OUT)/corpus/$$name \
	        >$(OUT)/$$name.log 2>&1 || { tail -n 60 $(OUT)/$$name.log; exit 1; }; \
	    sed -n "s/^stat::number_of_executed_units: /fuzz_$$name: executions: /p" $(OUT)/$$name.log; \
	done

# ---- Measuring: both write bench/RESULTS.md and its plots.  ARGS='--servers cofferd,redis' and the like.

bench: all
	bench/results --bench $(OUT)/coffer-bench --cofferd $(OUT)/cofferd --json $(OUT)/results.json $(ARGS)
bench-full: all
	bench/results --full --bench $(OUT)/coffer-bench --cofferd $(OUT)/cofferd --json $(OUT)/results-full.json $(ARGS)

force:

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                build $(OUT)/cofferd and the load generator $(OUT)/coffer-bench'
	@echo 'make run            serve 127.0.0.1:11211 from ./coffer-data'
	@echo 'make check          linters, a build with warnings as errors, and all tests'
	@echo 'make check-asan     all tests with the address and undefined behaviour sanitizers'
	@echo 'make check-tsan     all tests with the thread sanitizer'
	@echo 'make check-debug    all tests with costly checks and lock order checks'
	@echo 'make check-unit     the unit tests; TEST=buffer runs one of them'
	@echo 'make check-script   the wire scripts; check-crash: kill -9, failing calls, damage'
	@echo 'make check-clients  every client there is, web sessions, twemproxy; installs them (scripts/setup-clients)'
	@echo 'make fuzz           made-up input for parsers and composers; FUZZ_SECONDS=60 for each; needs clang'
	@echo 'make check-bench    smoke tests of the load generator'
	@echo 'make bench          measure against memcached and Redis for ten minutes, write bench/RESULTS.md'
	@echo 'make bench-full     the same in full size, which takes hours'
	@echo 'make micro          build the micro-benchmarks $(OUT)/micro_*'
	@echo 'make clean          remove $(BUILD)'
	@echo
	@echo 'CC=clang            another compiler'
	@echo 'VARIANT=debug       or release, check, asan, tsan, fuzz; each has its own directory'
	@echo 'BUILD=dir           where to build, instead of build'
	@echo 'ARGS=...            more arguments for the server (run) or the test runner (check-script ...)'
	@echo 'V=1                 show the commands'
	@echo
	@echo 'scripts/setup installs the libraries; scripts/run and scripts/check do that first.'
