# Every target works on a machine that has Python 3.11 or newer and a C++20 compiler: it makes .venv,
# installs what it needs there (cmake and ninja too) and runs. A second call only rebuilds what changed.
PYTHON ?= python3
JOBS ?= 2
# Formats differ from release to release.
CLANG_FORMAT := 23.1.5
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet
SOURCES := CMakeLists.txt pyproject.toml LICENSE README.md $(shell find cpp bindings -type f)
CXX_FILES = $(shell git ls-files -co --exclude-standard '*.cpp' '*.hpp')

.PHONY: demo test test-cpp test-python lint bench sanitize clean

demo: $(VENV)/.installed
	$(BIN)/python tools/demo.py

test: test-cpp test-python

test-cpp: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/developer -G Ninja -DGLRSAMPLER_DEVELOPER=ON --log-level=WARNING \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	$(BIN)/cmake --build build/developer -j $(JOBS)
	$(BIN)/ctest --test-dir build/developer --output-on-failure -j $(JOBS)

test-python: $(VENV)/.installed
	$(BIN)/python -m pytest

# The C++ units under the address and undefined-behaviour sanitizers.
sanitize: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DGLRSAMPLER_DEVELOPER=ON --log-level=WARNING \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DGLRSAMPLER_SANITIZE=address;undefined"
	$(BIN)/cmake --build build/sanitize -j $(JOBS)
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure -j $(JOBS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

bench: $(VENV)/.installed
	$(BIN)/python -m bench all --out build/bench

clean:
	rm -rf build $(VENV)

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.tools: $(VENV)/.created Makefile
	$(PIP) "cmake>=3.21" ninja "nlohmann-json>=3.11"
	touch $@

$(VENV)/.lint: $(VENV)/.created Makefile
	$(PIP) "ruff>=0.8" "mypy>=1.13" "clang-format==$(CLANG_FORMAT)" numpy
	touch $@

# Editable: Python files are used where they are, only the compiled module is rebuilt. Without build
# isolation the compiler's work of the last time is kept.
$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(PIP) "scikit-build-core>=0.10" "pybind11>=2.12"
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(PIP) --no-build-isolation --editable ".[demo,test]"
	touch $@
