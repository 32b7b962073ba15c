// A server whose tasks are answered here, by a special network, or by another server.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "shoal/onnx/export.h"
#include "shoal/ops/ops.h"
#include "shoal/prefix/split_network.h"
#include "shoal/serve/http/client.h"
#include "shoal/serve/http/server.h"

namespace shoal::serve {
namespace {

constexpr int64_t kPixels = 784;

ModelSource source(const std::string& variant) {
  return *parse_model_source("ten." + variant + "=zoo:digits");
}

// A large variant that is too dear for the day, and a small one; both are the digits.
ServerOptions task_options() {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.drain_grace = std::chrono::milliseconds(0);
  schedule::Task task{.name = "ten", .requests_per_day = 1000};
  task.options = {{.variant = "big", .accuracy = 0.99, .ms = 5, .joules = 10, .bytes = 1000},
                  {.variant = "small", .accuracy = 0.8, .ms = 1, .joules = 1, .bytes = 100}};
  options.tasks.catalog.tasks = {task};
  options.tasks.budgets = {.joules = 1500, .dollars = 100, .bytes = 10'000, .seconds = 86'400};
  return options;
}

Result<Model> model_of(const Graph& graph) {
  SHOAL_ASSIGN(auto file, onnx::to_onnx(graph));
  const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(file));
  return parse_model(bytes, *bytes);
}

class Places : public ::testing::Test {
 protected:
  std::unique_ptr<Server> start(const std::vector<ModelSource>& sources,
                                const ServerOptions& options) {
    auto server = Server::start(sources, *device_, options);
    EXPECT_TRUE(server.ok()) << server.status().message();
    return *std::move(server);
  }

  // The answer to an image whose pixels all have this value.
  InferResponse ask(const Server& server, const std::string& model, float pixel) {
    Tensor image({DType::kF32, {1, 1, 28, 28}});
    std::ranges::fill(image.data<float>(), pixel);
    InferRequest request;
    request.inputs.push_back({"image", image, true});
    request.binary_outputs = true;
    auto client = HttpClient::connect(server.url());
    SHOAL_CHECK(client.ok());
    const auto answer = client->post("/v2/models/" + model + "/infer", print(request));
    SHOAL_CHECK(answer.ok());
    EXPECT_EQ(answer->status, 200U) << std::string(
        reinterpret_cast<const char*>(answer->body.bytes.data()), answer->body.bytes.size());
    const auto response = parse_infer_response(answer->body);
    SHOAL_CHECK(response.ok());
    return *response;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
};

std::string at(const InferResponse& response, const std::string& name) {
  const auto found = response.parameters.find(name);
  return found == response.parameters.end() ? "" : found->second;
}

std::vector<float> scores_in(const InferResponse& response) {
  const auto scores = response.outputs.at(0).tensor.data<float>();
  return {scores.begin(), scores.end()};
}

// MC-9 on sockets: no request is lost when the other server goes away.
TEST_F(Places, AsksTheCloudAndAnswersItselfWhereThatIsGone) {
  for (const bool is_worker : {false, true}) {
    ServerOptions there;
    there.listen = "127.0.0.1:0";
    there.drain_grace = std::chrono::milliseconds(0);
    auto cloud = start({source("big"), source("small")}, there);
    ServerOptions options = task_options();
    PlaceOptions& place = is_worker ? options.worker : options.cloud;
    place.server.url = cloud->url();
    place.server.client.timeout = std::chrono::milliseconds(20'000);
    place.costs = {
        .bytes_per_second = 1e7, .radio_watts = 1, .speed = 1, .dollars_per_second = 0.01};
    const auto server = start({source("big"), source("small")}, options);
    const InferResponse away = ask(*server, "ten", 0.5F);
    EXPECT_EQ(at(away, "place"), is_worker ? "worker" : "cloud");
    EXPECT_EQ(at(away, "variant"), "big");
    EXPECT_EQ(away.model_name, "ten");
    EXPECT_EQ(scores_in(away), scores_in(ask(*server, "ten.small", 0.5F)));
    cloud.reset();
    for (int i = 0; i < 3; ++i) {
      const InferResponse here = ask(*server, "ten", 0.5F);
      EXPECT_EQ(at(here, "place"), "");
      EXPECT_EQ(scores_in(here), scores_in(away));
    }
    auto client = HttpClient::connect(server->url());
    const auto answer = client->get("/v2/catalog");
    ASSERT_TRUE(answer.ok());
    const std::string text(reinterpret_cast<const char*>(answer->body.bytes.data()),
                           answer->body.bytes.size());
    EXPECT_NE(text.find("no answer came, money is given back"), std::string::npos) << text;
    EXPECT_NE(text.find("no link"), std::string::npos) << text;
  }
}

// MC-17 on sockets: the first layers here, the rest there; exactly the values between them travel.
TEST_F(Places, FirstLayersHereAndTheRestThereAnswerAsTheWhole) {
  const auto whole = open_model("zoo:digits")->graph_for_batch(1);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto points = prefix::split_points(whole->graph);
  ASSERT_FALSE(points.empty());
  const auto split = prefix::split_after(whole->graph, points.back().nodes);
  ASSERT_TRUE(split.ok()) << split.status().message();
  ModelSource rest = source("rest");
  rest.open = [&] { return model_of(split->rest); };
  ServerOptions there;
  there.listen = "127.0.0.1:0";
  const auto server = start({source("big"), rest}, there);
  Tensor image({DType::kF32, {1, 1, 28, 28}});
  std::ranges::fill(image.data<float>(), 0.5F);
  std::vector<Tensor> given(split->first.outputs().size());
  const auto first = device_->compile(split->first);
  ASSERT_TRUE(first.ok() && (*first)->run(std::span(&image, 1), given, {}).ok());
  InferRequest request;
  request.binary_outputs = true;
  for (size_t i = 0; i < given.size(); ++i) {
    request.inputs.push_back({split->rest[split->rest.inputs()[i]].name, given[i], true});
  }
  size_t sent = 0;
  for (const Tensor& tensor : print(request).tensors) sent += tensor.bytes().size();
  EXPECT_EQ(sent, static_cast<size_t>(points.back().sent_bytes));
  EXPECT_LT(sent, image.bytes().size());
  RemoteServer remote({.url = server->url(), .client = {}, .most = 1});
  std::promise<Result<InferResponse>> answered;
  remote.infer("ten.rest", request,
               [&](Result<InferResponse> answer) { answered.set_value(std::move(answer)); });
  const auto answer = answered.get_future().get();
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(scores_in(*answer), scores_in(ask(*server, "ten.big", 0.5F)));
}

// A network for a class and another one: sure of the first unless the image is bright.
Result<Model> special_model() {
  Graph graph;
  const ValueId x = graph.add_input("image", {DType::kF32, {1, 1, 28, 28}});
  SHOAL_ASSIGN(const ValueId flat, graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}}));
  Tensor weights({DType::kF32, {3, kPixels}});
  for (int64_t i = 0; i < kPixels; ++i) {
    weights.data<float>()[static_cast<size_t>(2 * kPixels + i)] = 0.1F;
  }
  const ValueId w = graph.add_constant("w", weights);
  const ValueId b = graph.add_constant("b", Tensor::of<float>({3}, {9.F, 0.F, 0.F}));
  SHOAL_ASSIGN(const ValueId y,
               graph.add(ops::gemm, {flat, w, b}, {{"transB", int64_t{1}}}, "scores"));
  graph.mark_output(y);
  return model_of(graph);
}

// MC-12 and MC-13 on sockets.
TEST_F(Places, UsesASpecialNetworkAndTheGeneralOneWhereItDoesNotAnswer) {
  size_t dark = 0;
  {
    ServerOptions plain;
    plain.listen = "127.0.0.1:0";
    const auto server = start({source("big")}, plain);
    dark = best_classes(ask(*server, "ten.big", 0).outputs[0].tensor)[0];
  }
  const auto own = static_cast<int64_t>(dark);
  ServerOptions options = task_options();
  options.tasks.special.watch = {.most = 2, .memory = 8, .seconds = 0};
  options.tasks.special.pause = 1000;
  options.tasks.budgets.joules = 1e6;
  schedule::Option special{
      .variant = "special", .accuracy = 1, .ms = 1, .joules = 0.1, .bytes = 1100};
  special.fallback = schedule::Fallback{.share = 0.1, .accuracy = 0.99, .ms = 5, .joules = 10};
  options.tasks.catalog.tasks[0].options.push_back(special);
  options.tasks.specials = {{.id = {0, 2},
                             .network = {.classes = {own, (own + 1) % 10}, .threshold = 0.9},
                             .general = "big",
                             .classes = 10}};
  ModelSource network = source("special");
  network.open = special_model;
  const auto server = start({source("big"), source("small"), network}, options);
  for (int i = 0; i < 30; ++i) ask(*server, "ten", 0);
  const InferResponse by_special = ask(*server, "ten", 0);
  EXPECT_EQ(at(by_special, "variant"), "special");
  EXPECT_EQ(at(by_special, "fell"), "");
  EXPECT_EQ(scores_in(by_special).size(), 10U);
  EXPECT_EQ(best_classes(by_special.outputs[0].tensor)[0], dark);
  EXPECT_EQ(by_special.outputs[0].name, ask(*server, "ten.big", 0).outputs[0].name);
  const InferResponse fallen = ask(*server, "ten", 1);
  EXPECT_EQ(at(fallen, "variant"), "special");
  EXPECT_EQ(at(fallen, "fell"), "true");
  EXPECT_EQ(scores_in(fallen), scores_in(ask(*server, "ten.big", 1)));
  // Bright images one after another: it is given up.
  bool is_used = true;
  for (int i = 0; i < 200 && is_used; ++i) {
    is_used = at(ask(*server, "ten", 1), "variant") == "special";
  }
  EXPECT_FALSE(is_used);
}

}  // namespace
}  // namespace shoal::serve
