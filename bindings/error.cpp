// Errors of the library as the classes of glrsampler.errors, and the conversions every file uses.
#include "glrsampler/error.hpp"

#include <exception>
#include <limits>
#include <stdexcept>
#include <string>

#include "bindings.hpp"

namespace glr::bindings {

namespace {

template <typename... Args>
void raise(const char* name, const Args&... args) {
  const py::object type = py::module_::import("glrsampler.errors").attr(name);
  PyErr_SetObject(type.ptr(), type(args...).ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const SchemaError& e) {
    raise("SchemaError", e.what(), e.pointer, e.hint, e.line, e.column);
  } catch (const GrammarError& e) {
    raise("GrammarError", e.what(), e.line, e.column, e.hint);
  } catch (const BudgetError& e) {
    raise("BudgetError", e.what(), e.budget, e.limit, e.value, e.rule);
  } catch (const RejectedToken& e) {
    raise("RejectedToken", e.what(), e.offset);
  } catch (const IncompatibleArtifact& e) {
    raise("IncompatibleArtifact", e.what());
  } catch (const LlamaAbiError& e) {
    raise("LlamaAbiError", e.what());
  } catch (const Error& e) {
    raise("Error", e.what());
  }
}

}  // namespace

void register_errors() { py::register_local_exception_translator(translate); }

void OneThread::refuse() {
  throw std::runtime_error("used by two threads at once; give each thread its own fork() or clone()");
}

void Integer::refuse(const char* name, const py::int_& least, const py::int_& most) const {
  // Python writes out no more than some thousand digits.
  PyObject* digits = PyObject_Str(value_.ptr());
  if (digits == nullptr) PyErr_Clear();
  const std::string shown =
      digits == nullptr ? "a number too long to show" : py::reinterpret_steal<py::str>(digits).cast<std::string>();
  throw py::value_error(std::string(name) + ": " + shown + " is not between " + py::str(least).cast<std::string>() +
                        " and " + py::str(most).cast<std::string>());
}

TokenId Integer::token() const { return token_id(value_); }

TokenId token_id(py::handle value) {
  py::object index;
  PyObject* number = value.ptr();
  if (!PyLong_Check(number)) {
    index = py::reinterpret_steal<py::object>(PyNumber_Index(number));
    if (!index) throw py::error_already_set();
    number = index.ptr();
  }
  int overflow = 0;
  const long long id = PyLong_AsLongLongAndOverflow(number, &overflow);
  using Ids = std::numeric_limits<TokenId>;
  if (overflow > 0 || id > Ids::max()) return Ids::max();
  if (overflow < 0 || id < Ids::min()) return Ids::min();
  return static_cast<TokenId>(id);
}

std::string_view text_view(py::handle value) {
  if (PyUnicode_Check(value.ptr())) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (data == nullptr) throw py::error_already_set();
    return {data, static_cast<std::size_t>(size)};
  }
  if (PyBytes_Check(value.ptr())) {
    return {PyBytes_AS_STRING(value.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(value.ptr()))};
  }
  throw py::type_error("expected bytes or str");
}

py::array_t<std::int32_t> id_array(const TokenSet& set) {
  py::array_t<std::int32_t> ids(static_cast<py::ssize_t>(set.count()));
  std::int32_t* out = ids.mutable_data();
  set.for_each([&](TokenId id) { *out++ = id; });
  return ids;
}

}  // namespace glr::bindings
