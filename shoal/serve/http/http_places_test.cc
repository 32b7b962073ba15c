// A server whose tasks are answered here, by a special network, or by another server.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/math/random.h"
#include "shoal/engine/shared_layers/split_network.h"
#include "shoal/model/ops/ops.h"
#include "shoal/serve/engine/model_part.h"
#include "shoal/serve/http/http_client.h"
#include "shoal/serve/http/http_server.h"

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

class PlacesOfAnswers : public ::testing::Test {
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

  std::string catalog_of(const Server& server) {
    auto client = HttpClient::connect(server.url());
    const auto answer = client->get("/v2/catalog");
    SHOAL_CHECK(answer.ok());
    return {reinterpret_cast<const char*>(answer->body.bytes.data()), answer->body.bytes.size()};
  }

  std::unique_ptr<Device> device_ = make_reference_device();
};

TEST(RemoteServers, ShowTheKeyInAFile) {
  const auto folder = TemporaryFolder::make();
  const auto file = folder->path() / "key";
  ASSERT_TRUE(write_file(file, "secret\n\n").ok());
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const auto options = remote_server("http://10.0.0.9:8000", file, "", std::chrono::seconds(2));
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->url, "http://10.0.0.9:8000");
  EXPECT_EQ(options->client.key, "secret");
  EXPECT_EQ(options->client.timeout, std::chrono::seconds(2));
  EXPECT_FALSE(remote_server("http://a:1", folder->path() / "no", "", {}).ok());
  EXPECT_FALSE(remote_server("https://a:1", "", folder->path() / "no", {}).ok());
}

std::string at(const InferResponse& response, const std::string& name) {
  const auto found = response.parameters.find(name);
  return found == response.parameters.end() ? "" : found->second;
}

std::vector<float> scores_in(const InferResponse& response) {
  const auto scores = response.outputs.at(0).tensor.data<float>();
  return {scores.begin(), scores.end()};
}

// MC-9 on sockets: no request is lost when the other server goes away.
TEST_F(PlacesOfAnswers, AsksTheCloudAndAnswersItselfWhereThatIsGone) {
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
    const std::string text = catalog_of(*server);
    EXPECT_NE(text.find("no answer came, money is given back"), std::string::npos) << text;
    EXPECT_NE(text.find("no link"), std::string::npos) << text;
  }
}

// MC-17 on sockets: the first layers here, the rest there; exactly the values between them travel.
TEST_F(PlacesOfAnswers, FirstLayersHereAndTheRestThereAnswerAsTheWhole) {
  const auto whole = open_model("zoo:digits")->graph_for_batch(1);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto points = prefix::split_points(whole->graph);
  ASSERT_FALSE(points.empty());
  const auto split = prefix::split_after(whole->graph, points.back().nodes);
  ASSERT_TRUE(split.ok()) << split.status().message();
  ModelSource rest = source("rest");
  rest.open = [&] { return as_model(split->rest); };
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

// The server decides for a split: the whole does not fit here, and its input is too dear to send.
TEST_F(PlacesOfAnswers, SplitsANetworkWithTheCloudWhereThatIsBest) {
  const auto cloud = start({source("big"), source("small")}, task_options());
  ServerOptions options = task_options();
  schedule::Task& task = options.tasks.catalog.tasks[0];
  task.options[0].joules = 0.5;
  task.options[0].bytes = 1'000'000'000;
  task.options[1].joules = 0.1;
  options.tasks.budgets.joules = 2500;  // sending the image takes 3136
  options.tasks.budgets.bytes = 100'000'000;
  options.cloud.server.url = cloud->url();
  options.cloud.server.client.timeout = std::chrono::milliseconds(20'000);
  options.cloud.costs = {
      .bytes_per_second = 1e3, .radio_watts = 1, .speed = 10, .dollars_per_second = 0.01};
  auto server = start({source("big"), source("small")}, options);
  for (const float pixel : {0.25F, 0.5F}) {
    const InferResponse split = ask(*server, "ten", pixel);
    EXPECT_EQ(at(split, "place"), "split") << catalog_of(*server);
    EXPECT_EQ(at(split, "variant"), "big");
    const InferResponse whole = ask(*cloud, "ten.big", pixel);
    EXPECT_EQ(scores_in(split), scores_in(whole));
    EXPECT_EQ(split.outputs[0].name, whole.outputs[0].name);
  }
  const std::string text = catalog_of(*server);
  EXPECT_NE(text.find("big split after "), std::string::npos) << text;
  // Parts of unknown variants, and impossible cuts, are not models.
  auto client = HttpClient::connect(cloud->url());
  for (const char* name : {"ten.big.rest1000", "ten.big.rest0", "ten.huge.rest3", "big.rest3"}) {
    const auto answer = client->post("/v2/repository/models/" + std::string(name) + "/load", {});
    ASSERT_TRUE(answer.ok());
    EXPECT_NE(answer->status, 200U) << name;
  }
}

// An image classifier whose first layers are of one seed, and whose head is of another.
Graph classifier(uint64_t first, uint64_t head) {
  Graph graph;
  const auto weights = [&](const Shape& shape, uint64_t seed) {
    Tensor tensor({DType::kF32, shape});
    fill_normal(tensor.data<float>(), RandomStream(seed, 0), 0.1);
    return graph.add_constant("w", std::move(tensor));
  };
  const ValueId x = graph.add_input("image", {DType::kF32, {1, 1, 28, 28}});
  const ValueId conv = *graph.add(ops::conv, {x, weights({8, 1, 5, 5}, first)},
                                  {{"kernel_shape", std::vector<int64_t>{5, 5}}});
  const ValueId relu = *graph.add(ops::relu, {conv});
  const ValueId flat = *graph.add(ops::flatten, {relu}, {{"axis", int64_t{1}}});
  graph.mark_output(*graph.add(ops::gemm, {flat, weights({10, 8 * 24 * 24}, head)},
                               {{"transB", int64_t{1}}}, "scores"));
  return graph;
}

// MC-15 on sockets: two tasks about one image run the layers that they share once.
TEST_F(PlacesOfAnswers, TasksWithCommonFirstLayersRunThemOnceForAnImage) {
  ServerOptions options = task_options();
  std::vector<ModelSource> sources;
  options.tasks.catalog.tasks.clear();
  struct Head {
    std::string name;
    uint64_t first, head;  // seeds
  };
  for (const Head& one : {Head{"age", 1, 2}, Head{"mood", 1, 3}, Head{"other", 4, 5}}) {
    schedule::Task task{.name = one.name, .requests_per_day = 100};
    task.options = {{.variant = "v", .accuracy = 0.9, .ms = 1, .joules = 1, .bytes = 1'000'000}};
    options.tasks.catalog.tasks.push_back(task);
    for (const std::string& model : {one.name + ".v", one.name + "-whole"}) {
      ModelSource source = *parse_model_source(model + "=memory");
      source.open = [one] { return as_model(classifier(one.first, one.head)); };
      sources.push_back(source);
    }
  }
  options.tasks.budgets.bytes = 10'000'000;
  const auto server = start(sources, options);
  for (const float pixel : {0.25F, 0.5F}) {
    for (const std::string task : {"age", "mood", "other"}) {
      EXPECT_EQ(scores_in(ask(*server, task, pixel)),
                scores_in(ask(*server, task + "-whole", pixel)))
          << task;
    }
  }
  const std::string text = catalog_of(*server);
  EXPECT_NE(text.find(R"("name":"age.v+mood.v")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("runs":2,"uses":4)"), std::string::npos) << text;
  EXPECT_NE(text.find("mood: v here 0.900, fragment as before"), std::string::npos) << text;
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
  return as_model(graph);
}

// MC-12 and MC-13 on sockets.
TEST_F(PlacesOfAnswers, UsesASpecialNetworkAndTheGeneralOneWhereItDoesNotAnswer) {
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

// The same, by a network that is made when its class is seen, and is not in the catalog.
TEST_F(PlacesOfAnswers, HasASpecialNetworkMadeInTheBackground) {
  ServerOptions options = task_options();
  options.tasks.special.watch = {.most = 2, .memory = 8, .seconds = 0};
  options.tasks.budgets.joules = 1e6;
  options.tasks.makes = {{.task = 0, .general = "big", .classes = 10}};
  std::promise<std::vector<size_t>> asked;
  std::promise<void> may_go;
  options.make_special = [&, go = may_go.get_future().share()](
                             size_t task, const std::vector<size_t>& classes,
                             const std::atomic<bool>&) -> Result<MadeSpecial> {
    EXPECT_EQ(task, 0U);
    asked.set_value(classes);
    go.wait();
    MadeSpecial made;
    made.option = {.variant = "", .accuracy = 1, .ms = 1, .joules = 0.1, .bytes = 1100};
    made.option.fallback =
        schedule::Fallback{.share = 0.1, .accuracy = 0.99, .ms = 5, .joules = 10};
    const auto own = static_cast<int64_t>(classes[0]);
    made.network = {.classes = {own, (own + 1) % 10}, .threshold = 0.9};
    made.open = special_model;
    return made;
  };
  const auto server = start({source("big"), source("small")}, options);
  const size_t dark = best_classes(ask(*server, "ten", 0).outputs[0].tensor)[0];
  for (int i = 0; i < 30; ++i) ask(*server, "ten", 0);
  EXPECT_EQ(asked.get_future().get(), std::vector<size_t>{dark});
  EXPECT_EQ(at(ask(*server, "ten", 0), "variant"), "big") << "requests do not wait for it";
  may_go.set_value();
  InferResponse answer;
  for (int i = 0; i < 100'000 && at(answer, "variant") != "special.now"; ++i) {
    answer = ask(*server, "ten", 0);
  }
  EXPECT_EQ(at(answer, "variant"), "special.now");
  EXPECT_EQ(best_classes(answer.outputs[0].tensor)[0], dark);
  const InferResponse fallen = ask(*server, "ten", 1);
  EXPECT_EQ(at(fallen, "fell"), "true");
  EXPECT_EQ(scores_in(fallen), scores_in(ask(*server, "ten.big", 1)));
}

}  // namespace
}  // namespace shoal::serve
