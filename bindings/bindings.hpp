// What the files of the Python module share. They convert arguments and results and release the GIL;
// every decision is made by the library.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glrsampler/matcher.hpp"
#include "glrsampler/sampler.hpp"

namespace glr::bindings {

namespace py = pybind11;

// One for each public header, in the order of the pipeline; composition is GrammarBuilder's.
void register_errors();
void register_vocabulary(py::module_& module);
void register_grammar(py::module_& module);
void register_composition(py::module_& module);
void register_constraint(py::module_& module);
void register_matcher(py::module_& module);
void register_sampler(py::module_& module);
void register_llama(py::module_& module);

// Refuses a second thread instead of letting it in: an object that is for one sequence is for one
// thread at a time. Calls that keep the GIL need enter() only where another call may release it.
class OneThread {
 public:
  class Use {
   public:
    explicit Use(std::atomic<bool>& busy) : busy_(busy) {}
    ~Use() { busy_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  void check() const {
    if (busy_.load(std::memory_order_acquire)) refuse();
  }
  // Held while the GIL is released.
  Use enter() {
    check();
    busy_.store(true, std::memory_order_release);
    return Use(busy_);
  }

 private:
  [[noreturn]] static void refuse();
  std::atomic<bool> busy_{false};
};

// The Python object of a Matcher.
struct MatcherObject {
  explicit MatcherObject(Matcher m) : matcher(std::move(m)) {}

  Matcher& use() {
    thread.check();
    return matcher;
  }
  // The GIL is released when the set must be computed, and only then.
  const TokenSet& allowed();

  OneThread thread;
  Matcher matcher;
};

// The Python object of a Sampler. Keeps its constraint: a copy with another seed is made from it.
struct SamplerObject {
  SamplerObject(std::shared_ptr<const Constraint> c, Sampler s) : constraint(std::move(c)), sampler(std::move(s)) {}

  Sampler& use() {
    thread.check();
    return sampler;
  }

  OneThread thread;
  std::shared_ptr<const Constraint> constraint;
  Sampler sampler;
};

using PythonTokenizer = std::function<py::object(py::bytes)>;
Tokenizer in_bytes(PythonTokenizer tokenizer);

// An int argument of any size. pybind11 answers one that is out of a type's range with its list of signatures.
class Integer {
 public:
  Integer() = default;
  explicit Integer(py::object value) : value_(std::move(value)) {}

  // ValueError that names the argument, the value and the range.
  template <typename T>
  T in_range(const char* name, T least = std::numeric_limits<T>::min(), T most = std::numeric_limits<T>::max()) const {
    const py::int_ low(least), high(most);
    if (value_ < low || value_ > high) refuse(name, low, high);
    return value_.cast<T>();
  }
  // What is greater than any T becomes the greatest: for a count of which fewer are there anyway.
  template <typename T>
  T at_most(const char* name, T most = std::numeric_limits<T>::max()) const {
    const py::int_ low(0), high(most);
    if (value_ < low) refuse(name, low, high);
    return value_ > high ? most : value_.cast<T>();
  }
  TokenId token() const;

  friend bool operator<(const Integer& a, const Integer& b) { return a.value_ < b.value_; }

 private:
  [[noreturn]] void refuse(const char* name, const py::int_& least, const py::int_& most) const;
  py::object value_;
};

// Any int; one beyond the range of TokenId becomes its nearest value, which no vocabulary holds. Not an int:
// TypeError.
TokenId token_id(py::handle value);
// bytes, bytearray and memoryview as they are, str as UTF-8. Valid while `value` lives.
std::string_view text_view(py::handle value);
py::array_t<std::int32_t> id_array(const TokenSet& set);

// With the GIL released; what the file system refuses is the OSError that Python's own open() raises.
template <typename Run>
auto with_files(Run&& run) {
  try {
    const py::gil_scoped_release release;
    return run();
  } catch (const std::filesystem::filesystem_error& e) {
    // OSError picks FileNotFoundError and the like by the number.
    const auto error =
        py::reinterpret_borrow<py::object>(PyExc_OSError)(e.code().value(), e.code().message(), e.path1().string());
    PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
    throw py::error_already_set();
  }
}

// pybind11 holds no pointers to const; what is registered through this has no member that changes it.
template <typename T>
std::shared_ptr<T> holder(std::shared_ptr<const T> value) {
  return std::const_pointer_cast<T>(std::move(value));
}

}  // namespace glr::bindings

// int, and whatever else has __index__.
template <>
struct pybind11::detail::type_caster<glr::bindings::Integer> {
  PYBIND11_TYPE_CASTER(glr::bindings::Integer, const_name("int"));

  bool load(handle source, bool) {
    if (!source || PyIndex_Check(source.ptr()) == 0) return false;
    value = glr::bindings::Integer(reinterpret_steal<object>(PyNumber_Index(source.ptr())));
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
  }
};
