#include <gtest/gtest.h>

#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(GlslShaders, SharesEqualKernels) {
  const Launch one = for_each_element(100, {{Kind::kOutput, 0, "y"}}, "STORE(y, i, 1.0f);\n",
                                      {.max_group_items = 64});
  Launch other = one;
  other.items[0] = 32;
  const Shaders shaders = glsl_shaders(std::vector{one, other, one});
  EXPECT_EQ(shaders.of, (std::vector<size_t>{0, 1, 0}));
  ASSERT_EQ(shaders.sources.size(), 2u);
  EXPECT_TRUE(has(shaders.sources[1], "local_size_x = 32"));
}

TEST(GlslShaders, DefinesWhatIsCalled) {
  const Launch launch = for_each_element(1, {{Kind::kOutput, 0, "y"}},
                                         "STORE(y, i, f_Mish(1.0f, 0.0f, 0.0f));\n", {});
  const std::string text = glsl_shaders(std::span(&launch, 1)).sources[0];
  // Mish is of tanh and soft_plus, and these of others; each is defined before it is called.
  size_t last = 0;
  for (const char* part : {"float odd_ratio(", "float tanh(", "float log1p(", "float soft_plus(",
                           "float f_Mish(", "void main("}) {
    ASSERT_TRUE(has(text, part)) << part;
    EXPECT_GE(text.find(part), last) << part;
    last = text.find(part);
  }
  EXPECT_FALSE(has(text, "float sin(")) << text;
}

TEST(GlslShaders, DeclaresHowArgumentsAreStored) {
  Launch launch = for_each_element(4,
                                   {{Kind::kInput, 0, "x", Storage::kF16},
                                    {Kind::kTable, 0, "int_places"},
                                    {Kind::kScratch, 0, "parts"},
                                    {Kind::kScratch, 0, "own"},
                                    {Kind::kCounters, 0, "int_counters"}},
                                   "const float4 v = ALIGNED4(x, 4 * i);\n"
                                   "SHARED(parts, i) = LOAD(own, i);\n",
                                   {});
  launch.locals = {{"sums", 5}};
  const std::string text = glsl_shaders(std::span(&launch, 1)).sources[0];
  EXPECT_TRUE(has(text, "GL_EXT_shader_16bit_storage"));
  EXPECT_TRUE(has(text, "binding = 0) restrict readonly buffer Block0 { float16_t x[]; }"));
  EXPECT_TRUE(has(text, "binding = 0) restrict readonly buffer Block0_4 { f16vec4 x_fours[]; }"));
  EXPECT_TRUE(has(text, "binding = 1) restrict readonly buffer Block1 { int int_places[]; }"));
  EXPECT_TRUE(has(text, "binding = 2) coherent buffer Block2 { float parts[]; }"));
  EXPECT_TRUE(has(text, "binding = 3) buffer Block3 { float own[]; }")) << "nobody shares it";
  EXPECT_FALSE(has(text, "parts_fours[]"));
  EXPECT_TRUE(has(text, "shared vec4 sums[2];"));
  launch.arguments.pop_back();  // groups that do not meet
  launch.arguments[0].storage = Storage::kF32;
  const std::string plain = glsl_shaders(std::span(&launch, 1)).sources[0];
  EXPECT_FALSE(has(plain, "16bit"));
  EXPECT_TRUE(has(plain, "binding = 2) buffer Block2 { float parts[]; }"));
}

}  // namespace
}  // namespace shoal::gpu
