#include "grammar/lark/lark.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "grammar/diagnostic.hpp"
#include "grammar/lark/contextual.hpp"
#include "grammar/lark/imports.hpp"
#include "grammar/lark/writer.hpp"
#include "grammar/other_format.hpp"
#include "grammar/productive.hpp"

namespace glr {
namespace {

using lark::Program;

lark::SymbolId find_start(const Program& program, std::string_view start) {
  const auto& names = program.scope(Program::kMain).names;
  const auto found = names.find(start);
  if (found != names.end()) {
    const lark::Symbol& symbol = program.symbol(found->second);
    if (symbol.parameters.empty()) return found->second;
    program.fail(symbol.scope, {DiagnosticKind::MissingRoot, symbol.span, quoted(start) + " without parameters",
                                "a template is used with its arguments: name another rule with start=..."});
  }
  std::vector<std::string_view> rules;
  for (const lark::Definition& d : program.main().definitions) {
    if (!d.terminal && d.parameters.empty()) rules.push_back(d.name);
  }
  const std::string_view nearest = rules.size() == 1 ? rules.front() : nearest_name(start, rules);
  std::string hint;
  if (!nearest.empty()) {
    hint = "did you mean " + quoted(nearest) + "? then pass start=\"" + std::string(nearest.substr(0, 40)) + "\"";
  } else if (!rules.empty()) {
    hint = "name one of the rules with start=..., as in start=\"" + std::string(rules.front().substr(0, 40)) + "\"";
  }
  hint += (hint.empty() ? "define " : ", or define ") + quoted(start);
  const auto& definitions = program.main().definitions;
  program.fail(Program::kMain, {DiagnosticKind::MissingRoot, definitions.empty() ? Span{} : definitions.front().span,
                                quoted(start), hint});
}

}  // namespace

std::shared_ptr<const Grammar> read_lark(std::string_view text, std::string_view start, std::string_view file,
                                         const LarkOptions& options) {
  refuse_other_formats(text, file);
  const Program program(text, file, options.folder, options.import_paths);
  const lark::SymbolId symbol = find_start(program, start);
  const std::string front_end = "lark " + std::to_string(static_cast<unsigned>(options.lexing)) + program.fingerprint();
  GrammarBuilder builder(text, file, front_end);
  lark::Writer writer(program, builder, options.lexing);
  const RuleId root = writer.write(symbol);
  auto grammar = std::move(builder).build(root);
  require_sentence(*grammar);
  if (options.lexing != LarkOptions::Lexing::Contextual) return grammar;
  return lark::contextual(*grammar, writer.terminals(), GrammarBuilder(text, file, front_end));
}

std::shared_ptr<const Grammar> Grammar::from_lark(std::string_view text, std::string_view start, std::string_view file,
                                                  const LarkOptions& options) {
  return read_lark(text, start, file, options);
}

}  // namespace glr
