// Teaches a network new classes: fine_tune MODEL FOLDER CLASSES OUT.onnx. The folder has one
// sub-folder of images for each class, or labels.txt. Only the last layer learns from scratch.
#include <shoal/shoal.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: fine_tune MODEL FOLDER CLASSES OUT\n"), 2;
  shoal::fit::TrainingOptions options{.model = argv[1],
                                      .retarget = std::atoll(argv[3]),
                                      .data = argv[2],
                                      .format = "folder",
                                      .epochs = 5,
                                      .batch = 4,
                                      .out = argv[4]};
  options.preprocess.stretch = true;
  auto device = shoal::make_cpu_device();
  auto trained = shoal::fit::train(*device, options);
  if (!trained.ok()) {
    return std::fprintf(stderr, "%s\n", std::string(trained.status().message()).c_str()), 1;
  }
  std::printf("%.0f %% of the images held out are right\n", trained->evaluation.top1());
  return 0;
}
