// Loads a model, classifies an image: classify model.onnx image.png
#include <shoal/shoal.h>

#include <algorithm>
#include <cstdio>
#include <string>

shoal::Result<long> classify(const char* model, const char* file) {
  auto device = shoal::make_cpu_device();
  SHOAL_ASSIGN(auto session, shoal::Session::open(model, *device));
  SHOAL_ASSIGN(auto picture, shoal::read_image(file));
  SHOAL_ASSIGN(auto input, shoal::preprocess(picture, {.channels = 1}, 28, 28));
  SHOAL_ASSIGN(auto outputs, session.run({{session.inputs()[0].name, input}}));
  auto scores = outputs.at(session.outputs()[0]).data<float>();
  return std::ranges::max_element(scores) - scores.begin();
}

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: classify MODEL.onnx IMAGE\n"), 2;
  auto answer = classify(argv[1], argv[2]);
  if (answer.ok()) return std::printf("class %ld\n", *answer), 0;
  return std::fprintf(stderr, "%s\n", std::string(answer.status().message()).c_str()), 1;
}
