#include <gtest/gtest.h>

#include "shoal/engine/run/answers.h"
#include "shoal/engine/session/model.h"

namespace shoal::fit {
namespace {

TEST(RunFallback, IsForWorkersThatAreMissing) {
  using enum RunStep;
  for (const RunStep step : {kReach, kOpen, kRun}) {
    for (const Code code : {Code::kUnavailable, Code::kDeadline, Code::kExhausted}) {
      EXPECT_TRUE(calls_for_fallback(step, Status(code, "why"))) << static_cast<int>(code);
    }
    for (const Code code : {Code::kInvalidArgument, Code::kUnsupported, Code::kCorrupt,
                            Code::kInternal, Code::kCancelled}) {
      EXPECT_FALSE(calls_for_fallback(step, Status(code, "why"))) << static_cast<int>(code);
    }
  }
  const Status not_found(Code::kNotFound, "nobody there");
  EXPECT_TRUE(calls_for_fallback(kReach, not_found));
  EXPECT_TRUE(calls_for_fallback(kRun, not_found));
  EXPECT_FALSE(calls_for_fallback(kOpen, not_found)) << "the model's file";
}

TEST(RunFallback, SaysWhoAnsweredAndWhy) {
  const auto device = make_reference_device();
  Session session = *open_model("zoo:lenet5")->session(*device);
  const Session::Tensors inputs = *random_inputs(session, {});
  const Status why(Code::kUnavailable, "two workers are gone");
  const auto answer = answer_instead(session, inputs, "small.onnx", why);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->degraded, "small.onnx answered: two workers are gone");
  EXPECT_EQ(answer->outputs.size(), 1u);
  EXPECT_NE(to_json(*answer, {}).dump().find(R"({"degraded":"small.onnx answered)"),
            std::string::npos);
  EXPECT_EQ(to_json(Answer{answer->outputs}, {}).dump(), to_json(answer->outputs, {}).dump());
  EXPECT_EQ(answer_instead(session, {}, "small.onnx", why).status().code(), Code::kInvalidArgument)
      << "inputs that the fallback does not take";
}

}  // namespace
}  // namespace shoal::fit
