#include "shoal/serve/protocol/documents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/serve/protocol/call.h"
#include "shoal/serve/protocol/device_list.h"
#include "shoal/serve/protocol/metrics.h"

namespace shoal::serve {
namespace {

TEST(Documents, WriteMetadataAndReadItBack) {
  const ModelMetadata metadata{.name = "mymodel",
                               .version = "1",
                               .inputs = {{"input0", DType::kU32, {-1, 2}}},
                               .outputs = {{"output0", std::nullopt, {}}}};
  const std::string text = print(metadata);
  EXPECT_EQ(text, R"({"name":"mymodel","versions":["1"],"platform":"onnx_onnxv1",)"
                  R"("inputs":[{"name":"input0","datatype":"UINT32","shape":[-1,2]}],)"
                  R"("outputs":[{"name":"output0","datatype":"","shape":[]}]})");
  const auto read = parse_model_metadata(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(print(*read), text);
  EXPECT_FALSE(parse_model_metadata(text.substr(1)).ok());
}

TEST(Documents, WriteIndexStatisticsAndErrors) {
  EXPECT_EQ(print(std::vector<IndexEntry>{{"a", "1", "READY", ""}, {"b", "1", "UNAVAILABLE", "x"}}),
            R"([{"name":"a","version":"1","state":"READY","reason":""},)"
            R"({"name":"b","version":"1","state":"UNAVAILABLE","reason":"x"}])");
  EXPECT_EQ(print_error("a \"b\"\n"), R"({"error":"a \"b\"\n"})");
  ModelStatistics statistics;
  statistics.inferences = 5;
  statistics.success.add(70);
  statistics.batches[4].infer.add(60);
  const std::string text = print(std::vector<NamedStatistics>{{"m", "1", statistics, 0}});
  for (const char* part : {R"({"model_stats":[{"name":"m","version":"1")", R"("inference_count":5)",
                           R"("success":{"count":1,"ns":70})",
                           R"("batch_stats":[{"batch_size":4,"compute_input":{"count":0,"ns":0},)"
                           R"("compute_infer":{"count":1,"ns":60})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(Documents, ReadRequestsForTheIndex) {
  EXPECT_FALSE(*parse_index_request(""));
  EXPECT_TRUE(*parse_index_request(R"({"ready":true,"other":[]})"));
  EXPECT_FALSE(parse_index_request("{").ok());
}

TEST(Documents, WriteDevicesLinksAndPlans) {
  DeviceList list;
  list.devices.push_back({.name = "a\"b", .role = "worker", .kind = "x\xff", .lost = "gone"});
  list.devices.push_back({.name = "c", .role = "coordinator", .kind = "", .load = 0.5, .tasks = 7});
  list.links.push_back({.from = "c", .to = "a\"b", .round_trip_ms = 2});
  list.plans.push_back({.id = 9,
                        .model = "x f32[1]",
                        .split = "rows",
                        .ms = 1.5,
                        .picture = std::make_shared<const std::string>("<svg>")});
  EXPECT_EQ(print(list),
            "{\"devices\":[{\"name\":\"a\\\"b\",\"role\":\"worker\",\"kind\":\"x\xef\xbf\xbd\","
            "\"lost\":\"gone\",\"threads\":0,\"load\":null,\"memory_bytes\":0,\"free_bytes\":0,"
            "\"tasks\":0},{\"name\":\"c\",\"role\":\"coordinator\",\"kind\":\"\",\"lost\":\"\","
            "\"threads\":0,\"load\":0.5,\"memory_bytes\":0,\"free_bytes\":0,\"tasks\":7}],"
            "\"links\":[{\"from\":\"c\",\"to\":\"a\\\"b\",\"bytes_per_second\":null,"
            "\"round_trip_ms\":2}],\"plans\":[{\"id\":\"9\",\"model\":\"x f32[1]\","
            "\"split\":\"rows\",\"ms\":1.5}]}");
  EXPECT_EQ(print_plan(list, "9"), R"({"picture":"<svg>"})");
  EXPECT_FALSE(print_plan(list, "10").has_value());
}

TEST(Metrics, HaveShoalsNamesAndTritons) {
  ModelStatistics statistics;
  statistics.success.add(2'000'000'000);
  statistics.refused = 3;
  const std::vector<NamedStatistics> models = {{"m", "1", statistics, 7}};
  const std::string text = print_metrics(models);
  for (const char* line :
       {"# TYPE shoal_requests_answered_total counter\n",
        "shoal_requests_answered_total{model=\"m\",version=\"1\"} 1\n",
        "shoal_requests_failed_total{model=\"m\",version=\"1\",reason=\"refused\"} 3\n",
        "shoal_request_seconds_total{model=\"m\",version=\"1\"} 2\n",
        "nv_inference_request_success{model=\"m\",version=\"1\"} 1\n",
        "nv_inference_pending_request_count{model=\"m\",version=\"1\"} 7\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " in " << text;
  }
  EXPECT_EQ(text.find("_us"), std::string::npos);
  EXPECT_NE(print_metrics(models, true).find("nv_inference_request_duration_us{model=\"m\""),
            std::string::npos);
}

// A bucket counts values up to its bound and above the previous one; the text sums them up.
TEST(Metrics, HaveAHistogramOfLatencies) {
  constexpr auto& bounds = LatencyHistogram::kBounds;
  EXPECT_TRUE(std::ranges::is_sorted(bounds));
  LatencyHistogram histogram;
  for (uint64_t ns : {0u, 10'000u, 10'001u, 15'000u}) histogram.add(ns);
  histogram.add(10'000'000'001);
  EXPECT_EQ(histogram.counts[0], 2u);
  EXPECT_EQ(histogram.counts[1], 2u);
  EXPECT_EQ(histogram.counts[bounds.size()], 1u);
  ModelStatistics statistics;
  statistics.latency = histogram;
  statistics.success = {5, 2'000'000'000};
  const std::string text = print_metrics({{"m", "1", statistics, 0}});
  const std::string family = "shoal_request_duration_seconds", model = "model=\"m\",version=\"1\"";
  for (const std::string& line :
       {"# TYPE " + family + " histogram\n", family + "_bucket{" + model + ",le=\"1e-05\"} 2\n",
        family + "_bucket{" + model + ",le=\"1.5e-05\"} 4\n",
        family + "_bucket{" + model + ",le=\"10\"} 4\n",
        family + "_bucket{" + model + ",le=\"+Inf\"} 5\n", family + "_sum{" + model + "} 2\n",
        family + "_count{" + model + "} 5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " in " << text;
  }
}

TEST(Call, FindsEveryPath) {
  using enum CallKind;
  const auto kind = [](const char* target) { return parse_call(target)->kind; };
  EXPECT_EQ(kind("/"), kPage);
  EXPECT_EQ(kind("/metrics"), kMetrics);
  EXPECT_EQ(parse_call("/page/style.css?x")->file, "style.css");
  EXPECT_EQ(parse_call("/?x")->file, "");
  EXPECT_EQ(kind("/v2"), kServerMetadata);
  EXPECT_EQ(kind("/v2/"), kServerMetadata);
  EXPECT_EQ(kind("/v2/health/live"), kLive);
  EXPECT_EQ(kind("/v2/health/ready"), kReady);
  EXPECT_EQ(kind("/v2/models/stats"), kModelStatistics);
  EXPECT_EQ(kind("/v2/models/m"), kModelMetadata);
  EXPECT_EQ(kind("/v2/models/m/ready"), kModelReady);
  EXPECT_EQ(kind("/v2/models/m/config"), kModelConfig);
  EXPECT_EQ(kind("/v2/models/m/stats"), kModelStatistics);
  EXPECT_EQ(kind("/v2/repository/index"), kIndex);
  EXPECT_EQ(kind("/v2/repository/models/m/load"), kLoad);
  EXPECT_EQ(kind("/v2/repository/models/m/unload"), kUnload);
  EXPECT_EQ(route_of(kInfer).method, "POST");
  EXPECT_EQ(route_of(kModelReady).method, "GET");
  EXPECT_TRUE(route_of(kUnload).changes && route_of(kUnload).needs_key);
  const auto call = parse_call("/v2/models/m/versions/3/classify?a=&top=5");
  EXPECT_EQ(call->kind, kClassify);
  EXPECT_EQ(call->model, "m");
  EXPECT_EQ(call->version, "3");
  EXPECT_EQ(query_value(call->query, "top"), "5");
  EXPECT_EQ(query_value(call->query, "a"), "");
  EXPECT_EQ(query_value(call->query, "to"), std::nullopt);
}

TEST(Call, FindsNoOther) {
  for (const char* target :
       {"", "v2", "/v1", "//", "/v2//models", "/v2/health", "/v2/health/x", "/v2/models",
        "/v2/models//infer", "/v2/models/m/infer/x", "/v2/models/m/delete", "/v2/repository",
        "/v2/repository/models/m", "/v2/repository/models//load", "/../etc/passwd",
        "/v2/models/m/versions/1/2/infer", "/metrics/x"}) {
    EXPECT_FALSE(parse_call(target).has_value()) << target;
  }
}

}  // namespace
}  // namespace shoal::serve
