#include <filesystem>

#include "automaton/artifact.hpp"
#include "automaton/constraint.hpp"
#include "support/file.hpp"

namespace glr {

namespace {

// Strings, numbers, white space and the like, as the JSON Schema front end writes them: what the grammars of most
// vocabularies have in common.
std::shared_ptr<const Grammar> common_grammar() { return Grammar::from_json_schema("true"); }

std::string file_in(const std::string& folder, const Vocabulary& vocabulary) {
  const std::string name = "glrsampler-" GLRSAMPLER_VERSION "-" + vocabulary.fingerprint() + ".glr";
  return (std::filesystem::path(folder) / name).string();
}

// The engine of a saved constraint of `grammar`; null when there is none that fits.
std::shared_ptr<Engine> saved_engine(const std::string& path, const std::shared_ptr<const Vocabulary>& vocabulary,
                                     const Grammar& grammar) {
  if (!std::filesystem::exists(path)) return nullptr;
  try {
    const auto impl = read_artifact(read_file(path), vocabulary);
    return impl->grammar->fingerprint() == grammar.fingerprint() ? impl->ground().engine : nullptr;
  } catch (const IncompatibleArtifact&) {
    return nullptr;  // a cache: written anew
  }
}

}  // namespace

void warm(const std::shared_ptr<const Vocabulary>& vocabulary, const std::string& folder) {
  const std::shared_ptr<const Grammar> grammar = common_grammar();
  if (folder.empty()) {
    Constraint::compile(grammar, vocabulary, Mode::Eager);
    return;
  }
  std::filesystem::create_directories(folder);
  const std::string path = file_in(folder, *vocabulary);
  const auto saved = saved_engine(path, vocabulary, *grammar);
  // An engine that constraints already have stays: the next one shares theirs.
  const auto used = vocabulary->engine([&](const std::shared_ptr<Engine>& shared) { return shared ? shared : saved; });
  if (saved && used == saved) return;
  const auto constraint = Constraint::compile(grammar, vocabulary, Mode::Eager);
  if (!saved) constraint->save(path);
}

}  // namespace glr
