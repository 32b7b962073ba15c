// Classifies an image on the workers of this user's cluster together: cluster MODEL IMAGE
#include <shoal/shoal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

shoal::Result<long> classify(const char* model, const char* file) {
  shoal::OpenClusterOptions options;
  options.left_out = [](const shoal::Status& why) {
    std::fprintf(stderr, "left out: %s\n", std::string(why.message()).c_str());
  };
  SHOAL_ASSIGN(auto device, shoal::open_cluster(options));
  SHOAL_ASSIGN(auto session, shoal::Session::open(model, *device));
  SHOAL_ASSIGN(auto picture, shoal::read_image(file));
  SHOAL_ASSIGN(auto input, shoal::preprocess(picture, {.channels = 1}, 28, 28));
  const auto soon = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  SHOAL_ASSIGN(auto outputs, session.run({{session.inputs()[0].name, input}}, {.deadline = soon}));
  auto scores = outputs.at(session.outputs()[0]).data<float>();
  return std::ranges::max_element(scores) - scores.begin();
}

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: cluster MODEL IMAGE\n"), 2;
  auto answer = classify(argv[1], argv[2]);
  if (answer.ok()) return std::printf("class %ld\n", *answer), 0;
  return std::fprintf(stderr, "%s\n", std::string(answer.status().message()).c_str()), 1;
}
