// A server and its clients in one process.
#include "shoal/serve/http/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <random>
#include <string>
#include <thread>

#include "shoal/serve/http/http_client.h"
#include "shoal/serve/http/load.h"

namespace shoal::serve {
namespace {

std::string text_of(const HttpAnswer& answer) {
  return {reinterpret_cast<const char*>(answer.body.bytes.data()), answer.body.bytes.size()};
}

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.engine.slots = 2;
    options.drain_grace = std::chrono::milliseconds(0);
    auto started = Server::start({*parse_model_source("zoo:digits")}, *device_, options);
    ASSERT_TRUE(started.ok()) << started.status().message();
    server_ = *std::move(started);
  }

  HttpClient connect() {
    auto client = HttpClient::connect(server_->url());
    SHOAL_CHECK(client.ok());
    return *std::move(client);
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersSeveralClientsAndDrains) {
  const auto result = run_load({.url = server_->url(),
                                .model = "digits",
                                .clients = 4,
                                .time = std::chrono::duration<double>(0.2)});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->failed, 0u) << result->first_failure;
  EXPECT_GE(result->answered.count(), 4u);
  HttpClient client = connect();
  const auto statistics = client.get("/v2/models/digits/stats");
  ASSERT_TRUE(statistics.ok());
  const std::string success =
      "\"success\":{\"count\":" + std::to_string(result->answered.count()) + ",";
  EXPECT_NE(text_of(*statistics).find(success), std::string::npos) << text_of(*statistics);
  EXPECT_TRUE(server_->drain());
  EXPECT_FALSE(HttpClient::connect(server_->url()).ok());
}

TEST(Server, SaysWhatItComputesOnNow) {
  const auto device = make_reference_device();
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  int asked = 0;
  options.api.devices = [&] {
    const std::string name = "d" + std::to_string(++asked);
    return DeviceList{.devices = {{.name = name, .role = "worker", .kind = ""}},
                      .links = {},
                      .plans = {{.id = 3,
                                 .model = "m",
                                 .split = "rows",
                                 .picture = std::make_shared<const std::string>("<p>")}}};
  };
  const auto server = Server::start({*parse_model_source("zoo:digits")}, *device, options);
  ASSERT_TRUE(server.ok());
  auto client = HttpClient::connect((*server)->url());
  ASSERT_TRUE(client.ok());
  for (const char* name : {"\"d1\"", "\"d2\""}) {
    const auto answer = client->get("/v2/devices");
    ASSERT_TRUE(answer.ok() && answer->status == 200);
    EXPECT_NE(text_of(*answer).find(name), std::string::npos) << text_of(*answer);
    EXPECT_EQ(text_of(*answer).find("<p>"), std::string::npos) << "pictures are asked for apart";
  }
  EXPECT_EQ(text_of(*client->get("/v2/plans/3")), R"({"picture":"<p>"})");
  EXPECT_EQ(client->get("/v2/plans/4")->status, 404U);
}

TEST_F(ServerTest, LoadsWhileItAnswers) {
  std::atomic<bool> over = false;
  std::thread loader([&] {
    HttpClient client = connect();
    for (int i = 0; i < 3; ++i) {
      const auto answer = client.post("/v2/repository/models/digits/load", {});
      EXPECT_TRUE(answer.ok() && answer->status == 200);
    }
    over = true;
  });
  while (!over) {
    const auto result = run_load({.url = server_->url(),
                                  .model = "digits",
                                  .clients = 2,
                                  .time = std::chrono::duration<double>(0.01)});
    EXPECT_TRUE(result.ok() && result->failed + result->refused.count() == 0);
  }
  loader.join();
}

// Whatever a few changed bytes make of a request, the server answers or closes, and goes on.
TEST_F(ServerTest, SurvivesDamagedTargetsAndBodies) {
  std::mt19937 rng(1);
  const auto draw = [&](size_t below) {
    return std::uniform_int_distribution<size_t>(0, below - 1)(rng);
  };
  for (int i = 0; i < 300; ++i) {
    std::string path = "/v2/models/digits/infer", json = R"({"inputs":[{"name":"image"}]})";
    for (std::string* text : {&path, &json}) {
      for (size_t n = draw(4); n > 0; --n) {
        (*text)[draw(text->size())] = static_cast<char>(draw(256));
      }
    }
    const auto answer = connect().post(path, {json, {}});
    EXPECT_FALSE(answer.ok() && answer->status == 500) << text_of(*answer);
  }
  const auto live = connect().get("/v2/health/live");
  EXPECT_TRUE(live.ok() && live->status == 200);
}

TEST(Server, HasRoomForSoManyBytesOfBodies) {
  const auto device = make_reference_device();
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.limits.body_bytes = 4 << 20;
  options.max_bodies = 1 << 20;
  const auto server = Server::start({*parse_model_source("zoo:digits")}, *device, options);
  ASSERT_TRUE(server.ok());
  const auto status = [&](size_t bytes) {
    auto client = HttpClient::connect((*server)->url());
    const auto answer = client->post("/v2/models/digits/infer", {std::string(bytes, ' '), {}});
    return answer.ok() ? answer->status : 0;
  };
  for (int i = 0; i < 3; ++i) {  // the budget is given back
    EXPECT_EQ(status(900'000), 400u);
    EXPECT_NE(status(2'000'000), 400u);  // 503, unless the client still writes when it is closed
  }
}

TEST(Server, AnswersOnlyWhileItLeads) {
  const auto device = make_reference_device();
  std::atomic<bool> leads = false;
  std::atomic<int> asked = 0, leaves_at = 0;  // the question at which it no longer leads; 0: none
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.leads = [&] { return leads && ++asked != leaves_at; };
  const auto server = Server::start({*parse_model_source("zoo:digits")}, *device, options);
  ASSERT_TRUE(server.ok());
  const auto status = [&](const char* path, const std::string& body = "") {
    auto client = HttpClient::connect((*server)->url());
    const auto answer = body.empty() ? client->get(path) : client->post(path, {body, {}});
    return answer.ok() ? answer->status : 0;
  };
  std::string zeros = "0";
  for (int i = 1; i < 28 * 28; ++i) zeros += ",0";
  const std::string body =
      R"({"inputs":[{"name":"image","datatype":"FP32","shape":[1,1,28,28],"data":[)" + zeros +
      "]}]}";
  const char* const infer = "/v2/models/digits/infer";
  for (const bool now : {false, true, false}) {
    leads = now;
    EXPECT_EQ(status("/v2/health/live"), 200u);
    EXPECT_EQ(status("/v2/models/digits"), 200u);
    EXPECT_EQ(status("/v2/health/ready"), now ? 200u : 400u);
    EXPECT_EQ(status("/v2/models/digits/ready"), now ? 200u : 400u);
    EXPECT_EQ(status(infer, body), now ? 200u : 503u);
  }
  // It is asked when a request comes, when the model begins and when the answer is there; one that
  // does not lead at any of these does not answer.
  leads = true;
  for (int question = 1; question <= 3; ++question) {
    asked = 0;
    leaves_at = question;
    EXPECT_EQ(status(infer, body), 503u) << question;
  }
  asked = 0;
  leaves_at = 4;
  EXPECT_EQ(status(infer, body), 200u);
  EXPECT_EQ(asked, 3);
}

// The thread that accepts connections may be late to start one, and another looks at all of them.
TEST(Connection, HasTimeBeforeItIsStarted) {
  namespace asio = boost::asio;
  using asio::ip::tcp;
  asio::io_context io;
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  tcp::socket client(io);
  client.connect(acceptor.local_endpoint());
  BodyBudget bodies(1);
  Pace refusals{PaceOptions{}};
  const Connection::Shared shared{{}, bodies, refusals, nullptr, {}, {}, {}};
  const auto connection = std::make_shared<Connection>(acceptor.accept(), shared);
  const Time now = std::chrono::steady_clock::now();
  connection->check(now);
  EXPECT_FALSE(connection->is_shut_down());
  connection->check(now + std::chrono::hours(1));
  EXPECT_TRUE(connection->is_shut_down());
}

TEST(HttpClient, GivesUpWhereNobodyAnswers) {
  namespace asio = boost::asio;
  asio::io_context io;
  const asio::ip::tcp::acceptor silent(io, {asio::ip::address_v4::loopback(), 0});
  HttpClientOptions options;
  options.timeout = std::chrono::milliseconds(20);
  const std::string url = "http://127.0.0.1:" + std::to_string(silent.local_endpoint().port());
  auto client = HttpClient::connect(url, options);
  ASSERT_TRUE(client.ok());
  const auto answer = client->get("/");
  EXPECT_EQ(answer.status().code(), Code::kUnavailable);
  EXPECT_FALSE(client->is_open());
}

TEST_F(ServerTest, AnswersClientsThatHavePatienceAndRoomForSomeBytes) {
  HttpClientOptions options;
  options.timeout = std::chrono::minutes(1);
  auto client = HttpClient::connect(server_->url(), options);
  ASSERT_TRUE(client.ok());
  for (int i = 0; i < 3; ++i) {
    const auto answer = client->get("/v2/models/digits");
    EXPECT_TRUE(answer.ok() && answer->status == 200);
  }
  options.answer_bytes = 10;
  client = HttpClient::connect(server_->url(), options);
  ASSERT_TRUE(client.ok());
  EXPECT_FALSE(client->get("/v2/models/digits").ok());
}

TEST(Server, RefusesWhereItCannotListenAndModelsThatAreNotThere) {
  const auto device = make_reference_device();
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  EXPECT_FALSE(Server::start({*parse_model_source("none.onnx")}, *device, options).ok());
  const auto first = Server::start({*parse_model_source("zoo:digits")}, *device, options);
  ASSERT_TRUE(first.ok());
  options.listen = (*first)->url().substr(7);
  EXPECT_FALSE(Server::start({*parse_model_source("zoo:digits")}, *device, options).ok());
  options.listen = "somewhere:80";
  EXPECT_FALSE(Server::start({*parse_model_source("zoo:digits")}, *device, options).ok());
}

}  // namespace
}  // namespace shoal::serve
