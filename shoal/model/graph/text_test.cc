#include "shoal/model/graph/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace shoal {
namespace {

// Takes anything and gives every output the type of its first input.
Result<std::vector<TensorType>> like_first(const Node& node, std::span<const Operand> inputs) {
  return std::vector(node.outputs.size(), inputs[0].type);
}
constexpr Operator kAny = {
    .name = "Any", .min_inputs = 1, .max_inputs = 4, .max_outputs = 3, .infer = like_first};

const Operator* find(std::string_view name) { return name == "Any" ? &kAny : nullptr; }

std::string printed(std::string_view text) {
  auto graph = parse_text(text, find);
  return graph.ok() ? to_text(*graph) : std::string(graph.status().message());
}

TEST(Text, PrintsWhatItReads) {
  const std::string text =
      "input x f32[1,3,8,8]\n"
      "const w f32[2,2] = [1,-0.5,1e-05,inf]\n"
      "const s i64[] = [-9223372036854775808]\n"
      "const none f32[0,4] = []\n"
      "const b bool[2] = [true,false]\n"
      "y = Any(x, _, w) alpha=0.5 axis=-1 pads=[1,2] scale=2.0\n"
      "a, \"b c\", _d = Any(y) @conv/1\n"
      "output a\n"
      "output y\n";
  EXPECT_EQ(printed(text), text);
}

TEST(Text, KeepsEveryKindOfAttribute) {
  const std::string text =
      "input x f32[]\n"
      "y = Any(x) \"a b\"=1 f=-0.0 ff=[1.0,nan,-inf] fs=floats[] i=[] s=\"\\\"\\\\\\n\\x07\" "
      "ss=[\"\",\"é\"] sss=strings[] t=f16[2]{0.5,65504} u=u64[]{18446744073709551615}\n";
  EXPECT_EQ(printed(text), text);
}

TEST(Text, QuotesNamesThatWouldReadAsSomethingElse) {
  const std::string text =
      "input \"_\" f32[1]\n"
      "input \"input\" f32[1]\n"
      "\"output\" = Any(\"_\", \"input\")\n"
      "output \"output\"\n";
  EXPECT_EQ(printed(text), text);
}

TEST(Text, SkipsCommentsSpacesAndEmptyLines) {
  EXPECT_EQ(printed("  # nothing\n\n\tinput x f32[ 1, 2 ] # in\r\ny=Any( x ) k = \"#\"#out"),
            "input x f32[1,2]\ny = Any(x) k=\"#\"\n");
}

TEST(Text, DropsInputsLeftOutAtTheEnd) {
  EXPECT_EQ(printed("input x f32[1]\ny = Any(x, _, _)"), "input x f32[1]\ny = Any(x)\n");
}

TEST(Text, MakesUpNamesForOutputsNobodyReads) {
  auto graph = parse_text("input x f32[1]\n_, b = Any(x)\noutput b", find);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(printed(to_text(*graph)), to_text(*graph));
}

TEST(Text, DescribesConstants) {
  EXPECT_EQ(printed("const a f32[2] = zeros\nconst b i8[2] = ones\nconst c f64[1] = full(0.25)\n"
                    "const d i32[2,2] = identity\n"),
            "const a f32[2] = [0,0]\nconst b i8[2] = [1,1]\nconst c f64[1] = [0.25]\n"
            "const d i32[2,2] = [1,0,0,1]\n");
}

TEST(Text, RandomConstantsFollowTheirSeed) {
  auto graph = parse_text(
      "const a f32[99] = random(1)\nconst b f32[99] = random(2)\n"
      "const c f32[99] = random(1)\nconst d u8[99] = random(1)\n"
      "const e bool[99] = random(1)",
      find);
  ASSERT_TRUE(graph.ok());
  auto elements = [&](int id) { return (*graph)[ValueId{id}].constant->data<float>(); };
  EXPECT_TRUE(std::ranges::equal(elements(0), elements(2)));
  EXPECT_FALSE(std::ranges::equal(elements(0), elements(1)));
  for (float x : elements(0)) EXPECT_TRUE(x >= -1 && x < 1);
  for (uint8_t x : (*graph)[ValueId{3}].constant->data<uint8_t>()) EXPECT_LT(x, 16);
}

TEST(Text, ShowsAChangeInALargeConstant) {
  const std::string one = printed("const w f32[17] = random(1)");
  EXPECT_TRUE(one.starts_with("const w f32[17] = #")) << one;
  EXPECT_NE(one, printed("const w f32[17] = random(2)"));
}

TEST(Text, RefusesAHashInPlaceOfElements) {
  EXPECT_EQ(printed("const w f32[17] = #1f2e3d4c"),
            "line 1: w: the text holds only the hash of these elements");
  EXPECT_EQ(printed("input x f32[1]\ny = Any(x) t=f32[17]{#12}"),
            "line 2: t: the text holds only the hash of these elements");
}

TEST(Text, SaysTheLineAndWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"input x f31[1]", "there is no element type 'f31'"},
      {"input x f32", "expected '[', found the end of the line"},
      {"input x f32[-1]", "dimension -1 is out of range"},
      {"input x f32[1,1,1,1,1,1,1,1,1]", "has more than eight dimensions"},
      {"input x f32[1] y", "expected the end of the line, found 'y'"},
      {"input g f32[1]", "'g' is defined twice"},
      {"const w f32[2] = [1]", "w: expected ',', found ']'"},
      {"const w f32[1] = [1,2]", "w: expected ']', found ',2]'"},
      {"const w f32[9] = [1]", "w: holds fewer elements than f32[9]"},
      {"const w u8[1] = [256]", "w: expected a number, found '256', which is out of range"},
      {"const w u8[1] = [1.5]", "w: expected a number, found '1.5'"},
      {"const w bool[1] = full(2)", "w: expected true or false, found '2'"},
      {"const w f32[1,2] = identity", "w: is no square matrix"},
      {"const w f32[1] = magic", "w: cannot make elements by 'magic'"},
      {"const w f32[100000,10000] = zeros", "w: described constants are limited to 64 MiB in all"},
      {"y = Fly(g)", "there is no operator 'Fly'"},
      {"y = Any(y)", "'y' is not defined above"},
      {"y, y = Any(g)", "'y' is defined twice"},
      {"a, b, c, d = Any(g)", "Any: has 4 outputs, gives at most 3"},
      {"y = Any()", "Any: has 0 inputs, takes 1 to 4"},
      {"y = Any(g", "expected ',', found the end of the line"},
      {"y = Any(g) k", "expected '=', found the end of the line"},
      {"y = Any(g) k=", "k: expected a number, found the end of the line"},
      {"y = Any(g) k=[1,\"a\"]", "k: expected a number, found '\"a\"]'"},
      {"y = Any(g) k=1 k=2", "attribute 'k' is given twice"},
      {"y = Any(g) k=\"a", "k: a string does not end"},
      {"y = Any(g) k=\"\\q\"", "k: a backslash begins none of \\\" \\\\ \\n \\x41"},
      {"output _", "expected a name, found '_'"},
      {"= Any(g)", "expected a name, found '= Any(g)'"},
  };
  for (const auto& [line, message] : cases) {
    EXPECT_EQ(printed("input g f32[1]\n" + std::string(line)), "line 2: " + std::string(message));
  }
}

using Rng = std::mt19937;

int64_t draw(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

std::string random_name(Rng& rng) {
  std::string name;
  for (int64_t n = draw(rng, 1, 6); n > 0; --n) {
    name += static_cast<char>(draw(rng, 0, 3) == 0 ? draw(rng, 0, 255) : draw(rng, 'a', 'z'));
  }
  return name;
}

float random_float(Rng& rng) { return std::bit_cast<float>(static_cast<uint32_t>(rng())); }

Tensor random_constant(Rng& rng) {
  Shape shape;
  for (int64_t rank = draw(rng, 0, 4); rank > 0; --rank) shape.push_back(draw(rng, 0, 2));
  Tensor tensor({static_cast<DType>(draw(rng, 0, kDTypeCount - 1)), shape});
  const int64_t top = tensor.dtype() == DType::kBool ? 1 : 255;
  for (std::byte& b : tensor.bytes()) b = static_cast<std::byte>(draw(rng, 0, top));
  return tensor;
}

Attribute random_attribute(Rng& rng) {
  switch (draw(rng, 0, 6)) {
    case 0:
      return static_cast<int64_t>(rng()) << draw(rng, 0, 31);
    case 1:
      return random_float(rng);
    case 2:
      return random_name(rng);
    case 3:
      return std::vector<int64_t>(static_cast<size_t>(draw(rng, 0, 3)), draw(rng, -9, 9));
    case 4:
      return std::vector<float>(static_cast<size_t>(draw(rng, 0, 3)), random_float(rng));
    case 5:
      return std::vector<std::string>(static_cast<size_t>(draw(rng, 0, 3)), random_name(rng));
    default:
      return random_constant(rng);
  }
}

Graph random_graph(Rng& rng) {
  Graph graph;
  std::vector<ValueId> values = {graph.add_input(random_name(rng), {DType::kF32, {1, 2}})};
  auto any = [&] { return values[rng() % values.size()]; };
  for (int64_t steps = draw(rng, 1, 12); steps > 0; --steps) {
    if (draw(rng, 0, 2) == 0) {
      values.push_back(graph.add_constant(random_name(rng), random_constant(rng)));
      continue;
    }
    std::vector<ValueId> inputs = {any()};
    while (inputs.size() < 4) inputs.push_back(draw(rng, 0, 1) == 0 ? kNoValue : any());
    Attributes attributes;
    for (int64_t n = draw(rng, 0, 3); n > 0; --n)
      attributes[random_name(rng)] = random_attribute(rng);
    std::vector<std::string> outputs(static_cast<size_t>(draw(rng, 1, 3)));
    for (std::string& name : outputs) name = random_name(rng);
    auto ids = graph.add_node(kAny, inputs, attributes, outputs,
                              draw(rng, 0, 1) == 0 ? "" : random_name(rng));
    EXPECT_TRUE(ids.ok());
    values.insert(values.end(), ids->begin(), ids->end());
  }
  graph.mark_output(any());
  return graph;
}

TEST(Text, IsStableOnRandomGraphs) {
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    const std::string text = to_text(random_graph(rng));
    EXPECT_EQ(printed(text), text);
  }
}

TEST(Text, SurvivesDamage) {
  Rng rng(5);
  for (int i = 0; i < 5000; ++i) {
    std::string text = to_text(random_graph(rng));
    for (int64_t n = draw(rng, 1, 4); n > 0; --n) {
      const auto at = static_cast<size_t>(draw(rng, 0, static_cast<int64_t>(text.size()) - 1));
      switch (draw(rng, 0, 2)) {
        case 0:
          text[at] = static_cast<char>(draw(rng, 0, 255));
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, text.substr(rng() % text.size(), 5));
          break;
      }
    }
    auto graph = parse_text(text, find);
    if (!graph.ok()) continue;
    const std::string once = to_text(*graph);
    const bool hashed =
        once.find("= #") != std::string::npos || once.find("{#") != std::string::npos;
    if (!hashed) {
      EXPECT_EQ(printed(once), once);
    }
  }
}

}  // namespace
}  // namespace shoal
