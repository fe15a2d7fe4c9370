// One loop over the pattern. Groups that are open stand on an explicit stack; the finished items and alternatives of
// all open groups share two vectors, and a group knows where its own begin.
#include "grammar/regex_syntax.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "grammar/diagnostic.hpp"
#include "grammar/unicode.hpp"
#include "support/utf8.hpp"

namespace glr {
namespace {

using Ranges = std::vector<CodePointRange>;

constexpr std::size_t kMaxSource = std::size_t{1} << 28;  // bytes; keeps every id within 32 bits
constexpr std::uint32_t kMaxBound = kUnbounded - 1;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::optional<char32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<char32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<char32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<char32_t>(c - 'A' + 10);
  return std::nullopt;
}

// What the two dialects call a digit, a word and so on. ECMA-262: \d and \w are ASCII, \s is WhiteSpace and
// LineTerminator.
struct Classes {
  Ranges digits;
  Ranges word;
  Ranges space;
  Ranges line_ends;
};

Ranges united(std::initializer_list<std::string_view> properties, Ranges more) {
  for (const std::string_view property : properties) {
    const Ranges ranges = unicode_property(property).value();
    more.insert(more.end(), ranges.begin(), ranges.end());
  }
  return normalised(std::move(more));
}

const Classes& classes_of(RegexDialect dialect) {
  static const Classes ecma{{{'0', '9'}},
                            {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                            united({"Zs"}, {{'\t', '\r'}, {0x2028, 0x2029}, {0xFEFF, 0xFEFF}}),
                            {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}};
  static const Classes python{united({"Nd"}, {}),
                              united({"L", "N"}, {{'_', '_'}}),
                              united({"Zs"}, {{'\t', '\r'}, {0x1C, 0x1F}, {0x85, 0x85}, {0x2028, 0x2029}}),
                              {{'\n', '\n'}}};
  return dialect == RegexDialect::Python ? python : ecma;
}

struct Flags {
  bool ignore_case = false;
  bool lines = false;  // ^ and $ at line ends
  bool dot_all = false;
  bool verbose = false;  // white space and # comments are not read
};

class Reader {
 public:
  Reader(RegexTree& tree, const RegexText& text)
      : whole_(text.source),
        source_(text.source.substr(0, std::size_t{text.part.offset} + text.part.length)),
        file_(text.file),
        python_(text.dialect == RegexDialect::Python),
        classes_(classes_of(text.dialect)),
        tree_(tree),
        begin_(text.part.offset),
        at_(text.part.offset) {}

  std::uint32_t read(std::string_view flags);

 private:
  enum class GroupKind : std::uint8_t { Plain, Ahead, NotAhead, Behind, NotBehind };
  struct Group {
    GroupKind kind;
    std::size_t opened;        // offset of '('
    std::size_t items;         // where its current alternative begins in items_
    std::size_t alternatives;  // where its alternatives begin in alternatives_
    Flags outside;             // put back where it ends
  };

  void read_flags(std::string_view flags);
  bool skip_space_of_verbose();
  void open_group();
  bool read_group_flags(std::size_t begin);
  void read_name(char closing);
  void close_alternative();
  std::uint32_t close_choice();
  void close_group();
  std::uint32_t behind(std::uint32_t content, bool negated, Span where);
  void read_quantifier();
  bool at_bounds() const;
  std::uint32_t read_number();
  void read_escape();
  void read_class();
  // A code point, or a class of several (then `ranges` is filled and nothing is returned).
  std::optional<char32_t> read_member(std::size_t class_begin, Ranges& ranges);
  // After '\\' and the letter; nothing when it is no class escape.
  std::optional<Ranges> class_escape(std::size_t begin, char letter);
  Ranges property(std::size_t begin, bool negated);
  char32_t character_escape(std::size_t begin, bool in_class);
  char32_t hexadecimal(std::size_t begin, std::size_t count);
  void word_boundary(bool negated, Span where);

  void add_class(Ranges ranges, std::size_t begin);
  void add_item(std::uint32_t node, std::size_t begin, bool repeatable);

  bool at_end() const { return at_ >= source_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  std::string_view rest() const { return source_.substr(at_); }
  Span here(std::size_t begin) const {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_ - begin)};
  }
  std::string_view text(std::size_t begin) const { return source_.substr(begin, at_ - begin); }

  [[noreturn]] void fail(DiagnosticKind kind, Span where, std::string detail, std::string hint) const {
    throw grammar_error(whole_, file_, {kind, where, std::move(detail), std::move(hint)});
  }

  std::string_view whole_;   // for messages
  std::string_view source_;  // whole_ up to the pattern's end
  std::string_view file_;
  bool python_;
  const Classes& classes_;
  RegexTree& tree_;
  Flags flags_;
  std::size_t begin_;  // of the pattern
  std::size_t at_;
  bool repeatable_ = false;  // the last item can take a quantifier
  std::vector<Group> groups_;
  std::vector<std::uint32_t> items_;
  std::vector<std::size_t> begins_;  // by index in items_
  std::vector<std::uint32_t> alternatives_;
};

std::uint32_t Reader::read(std::string_view flags) {
  if (source_.size() - begin_ > kMaxSource) {
    fail(DiagnosticKind::SourceTooLong, {}, "more than " + std::to_string(kMaxSource) + " bytes", "");
  }
  for (std::size_t i = begin_; i < source_.size();) {
    const DecodedCodePoint c = decode_utf8(source_, i);
    if (c.length == 0) {
      fail(DiagnosticKind::InvalidUtf8, {static_cast<std::uint32_t>(i), 1}, "byte " + quoted(source_.substr(i, 1)),
           "a pattern is UTF-8; other code points are written \\xHH or \\u{HHHH}");
    }
    i += c.length;
  }
  read_flags(flags);
  groups_.push_back({GroupKind::Plain, begin_, 0, 0, flags_});
  while (!at_end()) {
    if (flags_.verbose && skip_space_of_verbose()) continue;
    const std::size_t begin = at_;
    switch (peek()) {
      case '|':
        close_alternative();
        ++at_;
        break;
      case '(':
        open_group();
        break;
      case ')':
        close_group();
        break;
      case '[':
        read_class();
        break;
      case '\\':
        read_escape();
        break;
      case '.':
        ++at_;
        add_class(flags_.dot_all ? Ranges{{0, kMaxCodePoint}} : complement(classes_.line_ends), begin);
        break;
      case '^':
        ++at_;
        add_item(flags_.lines ? tree_.add_behind(classes_.line_ends, true, false, here(begin))
                              : tree_.add(RegexKind::Start, {}, here(begin)),
                 begin, false);
        break;
      case '$': {
        ++at_;
        std::uint32_t end = tree_.add(RegexKind::End, {}, here(begin));
        if (flags_.lines) {
          const std::uint32_t parts[] = {end, tree_.add_class(classes_.line_ends, here(begin))};
          end = tree_.add_ahead(tree_.add(RegexKind::Choice, parts, here(begin)), false, here(begin));
        }
        add_item(end, begin, false);
        break;
      }
      case '*':
      case '+':
      case '?':
        read_quantifier();
        break;
      case '{':
        if (at_bounds()) {
          read_quantifier();
          break;
        }
        [[fallthrough]];
      default: {
        const DecodedCodePoint c = decode_utf8(source_, at_);
        at_ += c.length;
        add_class({{c.value, c.value}}, begin);
      }
    }
  }
  if (groups_.size() > 1) {
    const std::size_t opened = groups_.back().opened;
    fail(DiagnosticKind::Unmatched, {static_cast<std::uint32_t>(opened), 1}, "'('",
         "no ')' closes it; a bracket itself is \\(");
  }
  return close_choice();
}

bool Reader::skip_space_of_verbose() {
  const std::size_t begin = at_;
  while (!at_end() && std::string_view(" \t\n\r\f\v").find(peek()) != std::string_view::npos) ++at_;
  if (peek() == '#' && !at_end()) at_ = std::min(source_.find('\n', at_), source_.size());
  return at_ > begin;
}

void Reader::read_flags(std::string_view flags) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    switch (flags[i]) {
      case 'i':
        flags_.ignore_case = true;
        break;
      case 'm':
        flags_.lines = true;
        break;
      case 's':
        flags_.dot_all = true;
        break;
      case 'u':
        break;
      case 'x':
        if (python_) {
          flags_.verbose = true;
          break;
        }
        [[fallthrough]];
      default:
        throw grammar_error(flags, file_,
                            {DiagnosticKind::InvalidValue,
                             {static_cast<std::uint32_t>(i), 1},
                             "of a flag: " + quoted(flags.substr(i, 1)),
                             "flags are i (ignore case), m (^ and $ at lines), s (dot matches line ends), u"});
    }
  }
}

// Items and groups.

void Reader::add_item(std::uint32_t node, std::size_t begin, bool repeatable) {
  items_.push_back(node);
  begins_.push_back(begin);
  repeatable_ = repeatable;
}

void Reader::add_class(Ranges ranges, std::size_t begin) {
  if (flags_.ignore_case) ranges = with_case_variants(ranges);
  add_item(tree_.add_class(std::move(ranges), here(begin)), begin, true);
}

void Reader::open_group() {
  const std::size_t begin = at_++;
  Group group{GroupKind::Plain, begin, items_.size(), alternatives_.size(), flags_};
  const auto take = [&](std::string_view sign) {
    if (!rest().starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  };
  if (take("?")) {
    if (take(":")) {
    } else if (take("=")) {
      group.kind = GroupKind::Ahead;
    } else if (take("!")) {
      group.kind = GroupKind::NotAhead;
    } else if (take("<=")) {
      group.kind = GroupKind::Behind;
    } else if (take("<!")) {
      group.kind = GroupKind::NotBehind;
    } else if (take("#")) {
      const std::size_t end = source_.find(')', at_);
      if (end == std::string_view::npos) {
        fail(DiagnosticKind::Unterminated, here(begin), "comment " + quoted(text(begin)),
             "a comment is written (?#...)");
      }
      at_ = end + 1;
      return;
    } else if (take("P<") || take("<")) {
      read_name('>');
    } else if (rest().starts_with("P=")) {
      at_ += 2;
      read_name(')');
      fail(DiagnosticKind::Unsupported, here(begin), "back-reference " + quoted(text(begin)),
           "what it matches is no regular language; write the alternatives out");
    } else if (rest().starts_with("(")) {
      fail(DiagnosticKind::Unsupported, here(begin), "conditional group", "write the two cases as alternatives");
    } else if (rest().starts_with(">")) {
      fail(DiagnosticKind::Unsupported, here(begin), "atomic group",
           "its meaning depends on the order of a search; write (?:...) and exclude what must not match");
    } else if (!read_group_flags(begin)) {
      return;
    }
  }
  groups_.push_back(group);
  repeatable_ = false;
}

// (?i) sets flags of the whole pattern and is no group (false); (?i:...) and (?-i:...) of the group.
bool Reader::read_group_flags(std::size_t begin) {
  Flags now = flags_;
  bool on = true;
  bool any = false;
  for (; !at_end(); ++at_) {
    const char c = peek();
    any = any || is_letter(c);
    if (c == 'i')
      now.ignore_case = on;
    else if (c == 'm')
      now.lines = on;
    else if (c == 's')
      now.dot_all = on;
    else if (c == '-' && on)
      on = false;
    else
      break;
  }
  if (any && peek() == ':') {
    ++at_;
    flags_ = now;
    return true;
  }
  if (any && on && peek() == ')') {
    ++at_;
    if (begin != begin_) {
      fail(DiagnosticKind::Unexpected, here(begin), quoted(text(begin)),
           "flags of the whole pattern stand at its beginning; those of a part are written (?i:...)");
    }
    flags_ = now;
    groups_.front().outside = now;
    return false;
  }
  ++at_;
  at_ = std::min(at_, source_.size());
  fail(DiagnosticKind::Unsupported, here(begin), "group " + quoted(text(begin)),
       "groups are (...), (?:...), (?<name>...), (?=...), (?!...), (?<=x), (?<!x), and (?i:...) with the flags i, m "
       "and s");
}

void Reader::read_name(char closing) {
  const std::size_t begin = at_;
  while (is_letter(peek()) || is_digit(peek()) || peek() == '_' || peek() == '$' ||
         static_cast<unsigned char>(peek()) >= 0x80)
    ++at_;
  if (at_ > begin && !is_digit(source_[begin]) && peek() == closing) {
    ++at_;
    return;
  }
  fail(DiagnosticKind::Expected, here(begin), "the name of a group", "names are letters, digits and '_': (?<year>...)");
}

void Reader::close_alternative() {
  const std::size_t first = groups_.back().items;
  const std::size_t begin = items_.size() == first ? at_ : begins_[first];
  alternatives_.push_back(tree_.add(RegexKind::Sequence, std::span(items_).subspan(first), here(begin)));
  items_.resize(first);
  begins_.resize(first);
  repeatable_ = false;
}

std::uint32_t Reader::close_choice() {
  close_alternative();
  const Group& group = groups_.back();
  const std::uint32_t node =
      tree_.add(RegexKind::Choice, std::span(alternatives_).subspan(group.alternatives), here(group.opened));
  alternatives_.resize(group.alternatives);
  return node;
}

void Reader::close_group() {
  if (groups_.size() == 1) {
    fail(DiagnosticKind::Unmatched, {static_cast<std::uint32_t>(at_), 1}, "')'",
         "no '(' is open here; a bracket itself is \\)");
  }
  std::uint32_t node = close_choice();
  const Group group = groups_.back();
  groups_.pop_back();
  ++at_;
  flags_ = group.outside;
  const Span where = here(group.opened);
  switch (group.kind) {
    case GroupKind::Plain:
      break;
    case GroupKind::Ahead:
    case GroupKind::NotAhead:
      node = tree_.add_ahead(node, group.kind == GroupKind::NotAhead, where);
      break;
    case GroupKind::Behind:
    case GroupKind::NotBehind:
      node = behind(node, group.kind == GroupKind::NotBehind, where);
      break;
  }
  add_item(node, group.opened, group.kind == GroupKind::Plain);
}

// Look-behind of one code point, or the start of the text: alternatives of classes.
std::uint32_t Reader::behind(std::uint32_t content, bool negated, Span where) {
  Ranges ranges;
  bool at_start = false;
  std::vector<std::uint32_t> todo{content};
  while (!todo.empty()) {
    const RegexNode& n = tree_.nodes[todo.back()];
    todo.pop_back();
    const auto parts = tree_.parts(n);
    if (n.kind == RegexKind::Class) {
      ranges.insert(ranges.end(), tree_.classes[n.index].begin(), tree_.classes[n.index].end());
    } else if (n.kind == RegexKind::Start) {
      at_start = true;
    } else if (n.kind == RegexKind::Choice) {
      todo.insert(todo.end(), parts.begin(), parts.end());
    } else {
      fail(DiagnosticKind::Unsupported, where, "look-behind of more than one code point",
           "(?<=x) and (?<!x) take a class, ^, or alternatives of these; longer ones are written as what comes before");
    }
  }
  return tree_.add_behind(normalised(std::move(ranges)), at_start, negated, where);
}

// Quantifiers.

// {m}, {m,}, {m,n} or {,n} comes; any other brace stands for itself.
bool Reader::at_bounds() const {
  std::size_t i = 1;
  while (is_digit(peek(i))) ++i;
  const bool min = i > 1;
  if (peek(i) == '}') return min;
  if (peek(i++) != ',') return false;
  const std::size_t max = i;
  while (is_digit(peek(i))) ++i;
  return peek(i) == '}' && (min || i > max);
}

std::uint32_t Reader::read_number() {
  const std::size_t begin = at_;
  std::uint64_t value = 0;
  for (; is_digit(peek()); ++at_)
    value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(peek() - '0'), kUnbounded);
  if (value > kMaxBound) {
    fail(DiagnosticKind::NumberTooLarge, here(begin), quoted(text(begin)),
         "the largest bound is " + std::to_string(kMaxBound));
  }
  return static_cast<std::uint32_t>(value);
}

void Reader::read_quantifier() {
  const std::size_t begin = at_;
  std::uint32_t min = 0;
  std::uint32_t max = kUnbounded;
  const char c = source_[at_++];
  if (c == '+') min = 1;
  if (c == '?') max = 1;
  if (c == '{') {
    if (is_digit(peek())) max = min = read_number();
    if (peek() == ',') {
      ++at_;
      max = is_digit(peek()) ? read_number() : kUnbounded;
    }
    ++at_;
  }
  if (min > max) {
    fail(DiagnosticKind::InvertedBounds, here(begin), quoted(text(begin)),
         "write {" + std::to_string(max) + "," + std::to_string(min) + "}");
  }
  if (items_.size() == groups_.back().items || !repeatable_) {
    fail(DiagnosticKind::NothingToRepeat, here(begin), quoted(text(begin)),
         "a quantifier follows a character, a class or a group; a literal '" + std::string(1, c) + "' is written \\" +
             std::string(1, c));
  }
  const bool reluctant = peek() == '?';
  if (reluctant) {
    ++at_;
  } else if (peek() == '+') {
    ++at_;
    fail(DiagnosticKind::Unsupported, here(begin), "possessive quantifier " + quoted(text(begin)),
         "its meaning depends on the order of a search; without the last '+' the language is the greedy one");
  }
  const std::uint32_t repeated = items_.back();
  items_.back() = tree_.add_repeat(repeated, min, max, here(begins_.back()));
  if (reluctant && items_.back() != repeated && tree_.nodes[items_.back()].kind == RegexKind::Repeat)
    tree_.nodes[items_.back()].reluctant = true;
  repeatable_ = false;
}

// Escapes and classes.

void Reader::word_boundary(bool negated, Span where) {
  // \b: a word on one side and none on the other.
  Ranges of_word = classes_.word;
  if (flags_.ignore_case) of_word = with_case_variants(of_word);
  const std::uint32_t next = tree_.add_class(of_word, where);
  std::vector<std::uint32_t> cases;
  for (const bool after_word : {false, true}) {
    const std::uint32_t both[] = {tree_.add_behind(of_word, false, !after_word, where),
                                  tree_.add_ahead(next, after_word != negated, where)};
    cases.push_back(tree_.add(RegexKind::Sequence, both, where));
  }
  add_item(tree_.add(RegexKind::Choice, cases, where), where.offset, false);
}

void Reader::read_escape() {
  const std::size_t begin = at_++;
  if (at_end()) {
    fail(DiagnosticKind::BadEscape, here(begin), "'\\' at the end of the pattern",
         "the character itself is written \\\\");
  }
  const char c = source_[at_++];
  if (auto ranges = class_escape(begin, c)) return add_class(std::move(*ranges), begin);
  switch (c) {
    case 'b':
    case 'B':
      return word_boundary(c == 'B', here(begin));
    case 'A':
      return add_item(tree_.add(RegexKind::Start, {}, here(begin)), begin, false);
    case 'Z':
    case 'z':
      return add_item(tree_.add(RegexKind::End, {}, here(begin)), begin, false);
    case 'k':
      fail(DiagnosticKind::Unsupported, here(begin), "back-reference",
           "what it matches is no regular language; write the alternatives out");
    default:
      break;
  }
  at_ = begin + 1;
  const char32_t value = character_escape(begin, false);
  add_class({{value, value}}, begin);
}

std::optional<Ranges> Reader::class_escape(std::size_t begin, char letter) {
  switch (letter) {
    case 'd':
      return classes_.digits;
    case 'D':
      return complement(classes_.digits);
    case 'w':
      return classes_.word;
    case 'W':
      return complement(flags_.ignore_case ? with_case_variants(classes_.word) : classes_.word);
    case 's':
      return classes_.space;
    case 'S':
      return complement(classes_.space);
    case 'p':
      return property(begin, false);
    case 'P':
      return property(begin, true);
    default:
      return std::nullopt;
  }
}

// After \p or \P.
Ranges Reader::property(std::size_t begin, bool negated) {
  std::string_view name;
  if (peek() == '{') {
    const std::size_t end = source_.find('}', at_);
    if (end == std::string_view::npos) {
      at_ = std::min(at_ + 1, source_.size());
      fail(DiagnosticKind::Unterminated, here(begin), "property " + quoted(text(begin)),
           "a property is written \\p{Lu}");
    }
    name = source_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  } else if (is_letter(peek())) {
    name = source_.substr(at_++, 1);
  }
  if (auto found = unicode_property(name)) return negated ? complement(*found) : *found;
  std::string hint =
      "known are the general categories (L, Lu, Nd, ...), White_Space, Lowercase, Uppercase, ID_Start, ID_Continue, "
      "XID_Start, XID_Continue, ASCII, ASCII_Hex_Digit, Any and Assigned";
  hint += has_unicode_scripts()
              ? ", and scripts: \\p{Script=Greek}"
              : "; scripts are known when the library was built with the Python package fonttools at hand";
  fail(DiagnosticKind::Unsupported, here(begin), "Unicode property " + quoted(text(begin)), hint);
}

char32_t Reader::hexadecimal(std::size_t begin, std::size_t count) {
  char32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto digit = hex_digit(peek());
    if (!digit) {
      fail(DiagnosticKind::BadEscape, here(begin), quoted(text(begin)),
           "it is followed by " + std::to_string(count) +
               " hexadecimal digits: \\xHH, \\uHHHH, \\UHHHHHHHH, or \\u{H...}");
    }
    value = value << 4 | *digit;
    ++at_;
  }
  return value;
}

// At the character after '\\'. Surrogates are values that no text holds.
char32_t Reader::character_escape(std::size_t begin, bool in_class) {
  const DecodedCodePoint c = decode_utf8(source_, at_);
  at_ += c.length;
  switch (c.value) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case 'a':
      return '\a';
    case 'x':
      return hexadecimal(begin, 2);
    case '0':
      if (!is_digit(peek())) return 0;
      ++at_;
      fail(DiagnosticKind::BadEscape, here(begin), quoted(text(begin)), "octal escapes are ambiguous; write \\xHH");
    case 'c':
      if (is_letter(peek())) return static_cast<char32_t>(source_[at_++] & 31);
      fail(DiagnosticKind::BadEscape, here(begin), quoted(text(begin)), "a control character is written \\cA to \\cZ");
    case 'u': {
      if (peek() == '{') {
        ++at_;
        char32_t value = 0;
        const std::size_t first = at_;
        for (auto digit = hex_digit(peek()); digit && value <= kMaxCodePoint; digit = hex_digit(peek())) {
          value = value << 4 | *digit;
          ++at_;
        }
        if (value > kMaxCodePoint) {
          fail(DiagnosticKind::BadCodePoint, here(begin), quoted(text(begin)), "the largest code point is U+10FFFF");
        }
        if (at_ == first || peek() != '}') {
          fail(DiagnosticKind::BadEscape, here(begin), quoted(text(begin)), "a code point is written \\u{1F600}");
        }
        ++at_;
        return value;
      }
      const char32_t high = hexadecimal(begin, 4);
      if (high < 0xD800 || high > 0xDBFF || !rest().starts_with("\\u") || !hex_digit(peek(2))) return high;
      const std::size_t after = at_;
      at_ += 2;
      const char32_t low = hexadecimal(begin, 4);
      if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
      at_ = after;
      return high;
    }
    case 'U': {
      const char32_t value = hexadecimal(begin, 8);
      if (value <= kMaxCodePoint) return value;
      fail(DiagnosticKind::BadCodePoint, here(begin), quoted(text(begin)), "the largest code point is U+10FFFF");
    }
    default:
      break;
  }
  if (c.value >= '1' && c.value <= '9') {
    while (is_digit(peek())) ++at_;
    fail(DiagnosticKind::Unsupported, here(begin), "back-reference " + quoted(text(begin)),
         in_class ? "octal escapes are ambiguous; write \\xHH"
                  : "what it matches is no regular language; write the alternatives out");
  }
  if (c.value < 0x80 && is_letter(static_cast<char>(c.value))) {
    fail(DiagnosticKind::BadEscape, here(begin), quoted(text(begin)),
         "the letter itself is written without '\\'; escapes are \\d \\w \\s \\D \\W \\S \\p{..} \\b \\B \\n \\r \\t "
         "\\f \\v \\0 \\xHH "
         "\\uHHHH \\u{..} \\cX");
  }
  return c.value;
}

std::optional<char32_t> Reader::read_member(std::size_t class_begin, Ranges& ranges) {
  const auto unterminated = [&] {
    at_ = source_.size();
    fail(DiagnosticKind::Unterminated, {static_cast<std::uint32_t>(class_begin), 1},
         "class " + quoted(text(class_begin)), "no ']' closes it; a bracket itself is written \\[");
  };
  if (at_end()) unterminated();
  if (peek() != '\\') {
    const DecodedCodePoint c = decode_utf8(source_, at_);
    at_ += c.length;
    return c.value;
  }
  const std::size_t begin = at_++;
  if (at_end()) unterminated();
  const char c = source_[at_++];
  if (auto found = class_escape(begin, c)) {
    ranges = std::move(*found);
    return std::nullopt;
  }
  if (c == 'b') return '\b';
  at_ = begin + 1;
  return character_escape(begin, true);
}

void Reader::read_class() {
  const std::size_t begin = at_++;
  const bool negated = peek() == '^';
  if (negated) ++at_;
  if (peek() == ']' && !negated && !python_) {
    ++at_;
    fail(DiagnosticKind::EmptyClass, here(begin), quoted(text(begin)),
         "it matches nothing; a bracket in a class is written \\]");
  }
  Ranges all;
  const std::size_t members = at_;
  while (peek() != ']' || at_end() || (python_ && at_ == members)) {
    const std::size_t member_begin = at_;
    Ranges several;
    const auto first = read_member(begin, several);
    all.insert(all.end(), several.begin(), several.end());
    // A '-' beside a class or a closing bracket stands for itself.
    if (!first || peek() != '-' || peek(1) == ']' || at_ + 1 >= source_.size()) {
      if (first) all.push_back({*first, *first});
      continue;
    }
    ++at_;
    several.clear();
    const auto last = read_member(begin, several);
    if (!last) {
      all.insert(all.end(), several.begin(), several.end());
      all.insert(all.end(), {{*first, *first}, {'-', '-'}});
      continue;
    }
    if (*last < *first) {
      fail(DiagnosticKind::InvertedRange, here(member_begin), quoted(text(member_begin)),
           "a range goes from the lower code point to the higher; a '-' alone is written \\-");
    }
    all.push_back({*first, *last});
  }
  ++at_;
  all = normalised(std::move(all));
  if (flags_.ignore_case) all = with_case_variants(all);
  if (negated) all = complement(all);
  add_item(tree_.add_class(std::move(all), here(begin)), begin, true);
}

}  // namespace

// Trees.

std::uint32_t RegexTree::add(RegexNode node, std::span<const std::uint32_t> parts) {
  node.first = static_cast<std::uint32_t>(children.size());
  node.count = static_cast<std::uint32_t>(parts.size());
  children.insert(children.end(), parts.begin(), parts.end());
  for (const std::uint32_t part : parts) node.assertion = node.assertion || nodes[part].assertion;
  nodes.push_back(node);
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

std::uint32_t RegexTree::add_class(std::vector<CodePointRange> ranges, Span span) {
  classes.push_back(normalised(std::move(ranges)));
  return add({.kind = RegexKind::Class, .span = span, .index = static_cast<std::uint32_t>(classes.size() - 1)}, {});
}

std::uint32_t RegexTree::add(RegexKind kind, std::span<const std::uint32_t> parts, Span span) {
  const bool group = kind == RegexKind::Sequence || kind == RegexKind::Choice;
  if (group && parts.size() == 1) return parts[0];
  RegexNode node{.kind = kind, .span = span, .assertion = !group};
  const auto nullable = [&](std::uint32_t part) { return nodes[part].nullable; };
  node.nullable =
      kind == RegexKind::Choice ? std::ranges::any_of(parts, nullable) : group && std::ranges::all_of(parts, nullable);
  return add(node, parts);
}

std::uint32_t RegexTree::add_repeat(std::uint32_t part, std::uint32_t min, std::uint32_t max, Span span) {
  if (max == 0) return add(RegexKind::Sequence, {}, span);
  if (min == 1 && max == 1) return part;
  const std::uint32_t parts[] = {part};
  return add(
      {.kind = RegexKind::Repeat, .span = span, .min = min, .max = max, .nullable = min == 0 || nodes[part].nullable},
      parts);
}

std::uint32_t RegexTree::add_behind(std::vector<CodePointRange> ranges, bool at_start, bool negated, Span span) {
  classes.push_back(normalised(std::move(ranges)));
  return add({.kind = RegexKind::Behind,
              .span = span,
              .index = static_cast<std::uint32_t>(classes.size() - 1),
              .negated = negated,
              .at_start = at_start,
              .assertion = true},
             {});
}

std::uint32_t RegexTree::add_ahead(std::uint32_t part, bool negated, Span span) {
  const std::uint32_t parts[] = {part};
  return add({.kind = RegexKind::Ahead, .span = span, .negated = negated, .assertion = true}, parts);
}

std::uint32_t read_regex(RegexTree& tree, const RegexText& text) { return Reader(tree, text).read(text.flags); }

RegexTree read_regex(std::string_view pattern, std::string_view flags, std::string_view file) {
  RegexTree tree;
  const Span whole{0, static_cast<std::uint32_t>(std::min<std::size_t>(pattern.size(), kUnbounded))};
  tree.root = read_regex(tree, {.source = pattern, .part = whole, .flags = flags, .file = file});
  return tree;
}

}  // namespace glr
