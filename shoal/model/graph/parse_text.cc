// Parser of the text form. The text is untrusted, so every size is checked before it is allocated,
// and names and counts are bounded.
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

#include "shoal/base/limits.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/graph/text_names.h"

namespace shoal {
namespace {

// The most bytes of elements that the text only describes, by zeros or random(1), in all constants
// together. Without it a line of text could ask for 8 GB.
constexpr int64_t kMaxDescribedBytes = int64_t{64} << 20;

Result<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return invalid("there is no element type '" + std::string(name) + "'");
}

// std::from_chars: no locale, no exceptions, and the whole word must be consumed.
template <class T>
Result<T> number_in(std::string_view word) {
  if constexpr (std::is_same_v<T, bool>) {
    if (word == "true" || word == "false") return word == "true";
    return invalid("expected true or false, found '" + std::string(word) + "'");
  } else {
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size()) return value;
    return invalid("expected a number, found '" + std::string(word) + "'" +
                   (error == std::errc::result_out_of_range ? ", which is out of range" : ""));
  }
}

bool is_number_character(char c) { return is_name_character(c) || c == '+'; }

class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  bool at(char c) {
    skip_space();
    return !rest_.empty() && rest_[0] == c;
  }
  bool at_end() {
    skip_space();
    // A comment ends the line. Strings may contain '#', but they are read before at_end() is asked.
    return rest_.empty() || rest_[0] == '#';
  }
  bool eat(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  Status expect(char c) {
    return eat(c) ? Status() : invalid("expected '" + std::string(1, c) + "', found " + found());
  }
  // Takes all characters up to the next one that cannot be in a name; perhaps none.
  std::string_view word() { return take(is_name_character); }

  // A number as text: integer or float is decided later.
  Result<std::string_view> number_word() {
    const std::string_view word = take(is_number_character);
    if (word.empty()) return invalid("expected a number, found " + found());
    return word;
  }
  template <class T>
  Result<T> number() {
    SHOAL_ASSIGN(std::string_view word, number_word());
    return number_in<T>(word);
  }

  // A name, bare or in quotes.
  Result<std::string> name() {
    if (at('"')) return quoted();
    const std::string_view bare = word();
    if (bare.empty()) return invalid("expected a name, found " + found());
    if (bare.size() > kLimits.max_name_bytes) return invalid("a name is too long");
    return std::string(bare);
  }

  Result<std::string> quoted() {
    SHOAL_TRY(expect('"'));
    std::string text;
    for (;;) {
      if (rest_.empty()) return invalid("a string does not end");
      const char c = next();
      if (c == '"') return text;
      // Checked before the character is added, so a string never grows beyond the limit.
      if (text.size() == kLimits.max_name_bytes) return invalid("a string is too long");
      if (c != '\\') {
        text += c;
        continue;
      }
      SHOAL_ASSIGN(char escaped, escape());
      text += escaped;
    }
  }

  // The rank is checked before push_back(), which aborts beyond eight dimensions.
  Result<Shape> shape() {
    SHOAL_TRY(expect('['));
    Shape shape;
    while (!eat(']')) {
      if (shape.rank() > 0) SHOAL_TRY(expect(','));
      if (shape.rank() == Shape::kMaxRank) return invalid("has more than eight dimensions");
      SHOAL_ASSIGN(int64_t dim, number<int64_t>());
      shape.push_back(dim);
    }
    return shape;
  }

  Result<TensorType> type() {
    SHOAL_ASSIGN(DType dtype, dtype_named(word()));
    SHOAL_ASSIGN(Shape dims, shape());
    const TensorType type{dtype, dims};
    SHOAL_TRY(check(type));
    return type;
  }

  // Elements in brackets, {1,2} or [1,2], as many as the type has.
  Result<Tensor> elements(const TensorType& type, char open, char close) {
    SHOAL_TRY(expect(open));
    if (at('#')) return invalid("the text holds only the hash of these elements");
    // An element is at least one character, so a short text cannot ask for much memory.
    if (type.shape.count() > static_cast<int64_t>(rest_.size())) {
      return invalid("holds fewer elements than " + to_string(type));
    }
    Tensor tensor(type);
    Status status;
    visit<AllTypes>(type.dtype, [&]<class T>() { status = fill(tensor.data<T>()); });
    SHOAL_TRY(status);
    SHOAL_TRY(expect(close));
    return tensor;
  }

  std::string found() {
    if (at_end()) return "the end of the line";
    return "'" + std::string(rest_.substr(0, 12)) + "'";
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) {
      rest_.remove_prefix(1);
    }
  }
  char next() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  std::string_view take(bool (*belongs)(char)) {
    skip_space();
    size_t length = 0;
    while (length < rest_.size() && belongs(rest_[length])) ++length;
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  // The character that the text behind a backslash stands for.
  Result<char> escape() {
    const char c = rest_.empty() ? '\0' : next();
    if (c == '"' || c == '\\') return c;
    if (c == 'n') return '\n';
    unsigned code = 0;
    if (c != 'x' || rest_.size() < 2 ||
        std::from_chars(rest_.data(), rest_.data() + 2, code, 16).ptr != rest_.data() + 2) {
      return invalid("a backslash begins none of \\\" \\\\ \\n \\x41");
    }
    rest_.remove_prefix(2);
    return static_cast<char>(code);
  }

  template <class T>
  Status fill(std::span<T> elements) {
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) SHOAL_TRY(expect(','));
      SHOAL_ASSIGN(elements[i], number<Compute<T>>());
    }
    return {};
  }

  std::string_view rest_;
};

// The printer writes every float with one of these; 'n' covers nan and inf.
bool is_float(std::string_view number) {
  return number.find_first_of(".en") != std::string_view::npos;
}

Result<Attribute> parse_number(std::string_view number) {
  if (is_float(number)) {
    SHOAL_ASSIGN(float value, number_in<float>(number));
    return Attribute(value);
  }
  SHOAL_ASSIGN(int64_t value, number_in<int64_t>(number));
  return Attribute(value);
}

Result<Attribute> parse_strings(Line& line) {
  std::vector<std::string> strings;
  while (!line.eat(']')) {
    if (!strings.empty()) SHOAL_TRY(line.expect(','));
    SHOAL_ASSIGN(std::string text, line.quoted());
    strings.push_back(std::move(text));
  }
  return Attribute(std::move(strings));
}

// A list of integers, unless one of its numbers is a float: then all are.
Result<Attribute> parse_list(Line& line) {
  SHOAL_TRY(line.expect('['));
  if (line.at('"')) return parse_strings(line);
  std::vector<std::string_view> words;
  while (!line.eat(']')) {
    if (!words.empty()) SHOAL_TRY(line.expect(','));
    SHOAL_ASSIGN(std::string_view word, line.number_word());
    words.push_back(word);
  }
  if (std::ranges::none_of(words, is_float)) {
    std::vector<int64_t> ints;
    for (std::string_view word : words) {
      SHOAL_ASSIGN(int64_t value, number_in<int64_t>(word));
      ints.push_back(value);
    }
    return Attribute(std::move(ints));
  }
  std::vector<float> floats;
  for (std::string_view word : words) {
    SHOAL_ASSIGN(float value, number_in<float>(word));
    floats.push_back(value);
  }
  return Attribute(std::move(floats));
}

Result<Attribute> parse_attribute(Line& line) {
  if (line.at('[')) return parse_list(line);
  if (line.at('"')) {
    SHOAL_ASSIGN(std::string text, line.quoted());
    return Attribute(std::move(text));
  }
  // A word may begin a number or the type of a tensor; the bracket behind it tells.
  const Line start = line;
  SHOAL_ASSIGN(std::string_view word, line.number_word());
  if (!line.eat('[')) return parse_number(word);
  if ((word == "floats" || word == "strings") && line.eat(']')) {
    return word == "floats" ? Attribute(std::vector<float>())
                            : Attribute(std::vector<std::string>());
  }
  line = start;
  SHOAL_ASSIGN(TensorType type, line.type());
  SHOAL_ASSIGN(Tensor tensor, line.elements(type, '{', '}'));
  return Attribute(std::move(tensor));
}

template <class T>
Status fill_full(Line& line, std::span<T> elements) {
  SHOAL_ASSIGN(Compute<T> value, line.number<Compute<T>>());
  std::ranges::fill(elements, static_cast<T>(value));
  return {};
}

// Floats in [-1, 1), integers in [-8, 8) or [0, 16). std::mt19937 is specified bit by bit and the
// distributions are not, so the elements are computed here and are the same on every machine.
template <class T>
Status fill_random(Line& line, std::span<T> elements) {
  SHOAL_ASSIGN(uint32_t seed, line.number<uint32_t>());
  std::mt19937 bits(seed);
  for (T& x : elements) {
    const float unit = static_cast<float>(bits() >> 8) * 0x1p-23f - 1;
    if constexpr (Floats::contains(kDTypeOf<T>)) {
      x = static_cast<T>(unit);
    } else {
      const float low = std::is_signed_v<T> ? -8 : 0;
      x = static_cast<T>(low + std::floor((unit + 1) * (std::is_same_v<T, bool> ? 1.0f : 8.0f)));
    }
  }
  return {};
}

Status fill_identity(Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 2 || shape[0] != shape[1]) return invalid("is no square matrix");
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < shape[0]; ++i) {
      tensor.data<T>()[static_cast<size_t>(i * shape[1] + i)] = static_cast<T>(1);
    }
  });
  return {};
}

template <class T>
Status fill_described(Line& line, std::string_view how, std::span<T> elements) {
  if (how == "ones") {
    std::ranges::fill(elements, static_cast<T>(1));
    return {};
  }
  SHOAL_TRY(line.expect('('));
  SHOAL_TRY(how == "full" ? fill_full(line, elements) : fill_random(line, elements));
  return line.expect(')');
}

Result<Tensor> parse_described(Line& line, const TensorType& type) {
  const std::string_view how = line.word();
  if (how != "zeros" && how != "ones" && how != "identity" && how != "full" && how != "random") {
    return invalid("cannot make elements by '" + std::string(how) + "'");
  }
  Tensor tensor(type);
  Status status;
  if (how == "identity") {
    status = fill_identity(tensor);
  } else if (how != "zeros") {
    visit<AllTypes>(type.dtype,
                    [&]<class T>() { status = fill_described(line, how, tensor.data<T>()); });
  }
  SHOAL_TRY(status);
  return tensor;
}

class Parser {
 public:
  explicit Parser(const Operator* (*find)(std::string_view)) : find_(find) {}

  Status statement(std::string_view text) {
    Line line(text);
    if (line.at_end()) return {};
    SHOAL_TRY(any_statement(line));
    return line.at_end() ? Status()
                         : invalid("expected the end of the line, found " + line.found());
  }

  Graph graph() && { return std::move(graph_); }

 private:
  Status any_statement(Line& line) {
    // A Line is a view, so copying it to look ahead costs nothing.
    const Line start = line;
    const std::string_view word = line.word();
    if (word == "input") return input(line);
    if (word == "const") return constant(line);
    if (word == "output") return output(line);
    line = start;
    return node(line);
  }

  Status input(Line& line) {
    SHOAL_ASSIGN(std::string name, new_name(line));
    SHOAL_ASSIGN(TensorType type, line.type());
    define(graph_.add_input(std::move(name), type));
    return {};
  }

  Status constant(Line& line) {
    SHOAL_ASSIGN(std::string name, new_name(line));
    SHOAL_ASSIGN(TensorType type, line.type());
    SHOAL_TRY(line.expect('='));
    auto tensor = elements(line, type);
    if (!tensor.ok()) return tensor.status().at(name);
    define(graph_.add_constant(std::move(name), *std::move(tensor)));
    return {};
  }

  Result<Tensor> elements(Line& line, const TensorType& type) {
    if (line.at('#')) return invalid("the text holds only the hash of these elements");
    if (line.at('[')) return line.elements(type, '[', ']');
    // The sum cannot overflow: the type has passed check(), and the first sum above the limit ends
    // parsing.
    described_bytes_ += static_cast<int64_t>(type.bytes());
    if (described_bytes_ > kMaxDescribedBytes) {
      return Status(Code::kExhausted, "described constants are limited to 64 MiB in all");
    }
    return parse_described(line, type);
  }

  Status output(Line& line) {
    SHOAL_ASSIGN(ValueId id, value(line));
    if (id == kNoValue) return invalid("expected a name, found '_'");
    graph_.mark_output(id);
    return {};
  }

  Status node(Line& line) {
    std::vector<std::string> outputs;
    do {
      SHOAL_ASSIGN(std::string name, output_name(line));
      outputs.push_back(std::move(name));
    } while (line.eat(','));
    SHOAL_TRY(line.expect('='));
    const std::string_view op_name = line.word();
    const Operator* op = find_(op_name);
    if (op == nullptr) return invalid("there is no operator '" + std::string(op_name) + "'");
    SHOAL_ASSIGN(std::vector<ValueId> inputs, arguments(line));
    SHOAL_ASSIGN(Attributes attributes, parse_attributes(line));
    std::string name;
    if (line.eat('@')) {
      SHOAL_ASSIGN(name, line.name());
    }
    if (graph_.nodes().size() == kLimits.max_nodes) return invalid("too many nodes");
    SHOAL_ASSIGN(auto ids, graph_.add_node(*op, std::move(inputs), std::move(attributes),
                                           std::move(outputs), std::move(name)));
    for (ValueId id : ids) define(id);
    return {};
  }

  Result<std::vector<ValueId>> arguments(Line& line) {
    SHOAL_TRY(line.expect('('));
    std::vector<ValueId> inputs;
    while (!line.eat(')')) {
      if (!inputs.empty()) SHOAL_TRY(line.expect(','));
      SHOAL_ASSIGN(ValueId id, value(line));
      inputs.push_back(id);
    }
    return inputs;
  }

  static Result<Attributes> parse_attributes(Line& line) {
    Attributes attributes;
    while (!line.at_end() && !line.at('@')) {
      SHOAL_ASSIGN(std::string key, line.name());
      SHOAL_TRY(line.expect('='));
      auto value = parse_attribute(line);
      if (!value.ok()) return value.status().at(key);
      if (!attributes.emplace(key, *std::move(value)).second) {
        return invalid("attribute '" + key + "' is given twice");
      }
    }
    return attributes;
  }

  // A name for a new value; one that is taken is refused. It is reserved at once, so that a node
  // cannot name two outputs alike.
  Result<std::string> new_name(Line& line) {
    SHOAL_ASSIGN(std::string name, line.name());
    if (!values_.emplace(name, kNoValue).second) return invalid("'" + name + "' is defined twice");
    if (graph_.value_count() >= kLimits.max_values) return invalid("too many values");
    return name;
  }

  // The name of an output, empty for "_": the graph makes one up then.
  Result<std::string> output_name(Line& line) {
    const Line start = line;
    if (line.word() == "_") return std::string();
    line = start;
    return new_name(line);
  }

  Result<ValueId> value(Line& line) {
    const Line start = line;
    if (line.word() == "_") return kNoValue;
    line = start;
    SHOAL_ASSIGN(std::string name, line.name());
    const auto it = values_.find(name);
    if (it == values_.end() || it->second == kNoValue) {
      return invalid("'" + name + "' is not defined above");
    }
    return it->second;
  }

  void define(ValueId id) { values_[graph_[id].name] = id; }

  const Operator* (*find_)(std::string_view);
  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;  // kNoValue while its statement is read
  int64_t described_bytes_ = 0;
};

}  // namespace

Result<Graph> parse_text(std::string_view text, const Operator* (*find)(std::string_view)) {
  Parser parser(find);
  for (int line = 1; !text.empty(); ++line) {
    const size_t length = std::min(text.find('\n'), text.size());
    SHOAL_TRY(parser.statement(text.substr(0, length)).at("line " + std::to_string(line)));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return std::move(parser).graph();
}

}  // namespace shoal
