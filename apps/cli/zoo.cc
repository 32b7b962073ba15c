// shoal zoo: list the standard networks, or write one as ONNX.
#include "shoal/model/zoo/zoo.h"

#include <cstdio>

#include "cli.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/terminal/table.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/zoo/embedded.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal zoo                                   list what there is
  shoal zoo resnet18 -o resnet18.onnx         write it
  shoal zoo vgg16 --batch 4 --seed 7 -o v.onnx
  shoal zoo resnet18 --width 0.25 --size 64 -o small.onnx
  shoal bench zoo:vgg16                       or use it without a file)";

struct ZooFlags {
  std::string name;
  std::string output;
  zoo::Options options;
};

Outcome list_all() {
  Table table({"name", "what"});
  for (const zoo::Entry& entry : zoo::list()) {
    table.add({std::string(entry.name), std::string(entry.what)});
  }
  table.print();
  return {};
}

Status write_digits(const std::string& path) {
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(path));
  SHOAL_TRY(file.write(zoo::digits_model()));
  return file.commit();
}

Outcome list_or_write(const ZooFlags& flags) {
  if (flags.name.empty()) return list_all();
  if (flags.output.empty()) return {Exit::kUsage, "name a file with -o FILE.onnx"};
  if (flags.name == "digits") {
    const Status written = write_digits(flags.output);
    return written.ok() ? Outcome() : fail(Exit::kResources, written);
  }
  SHOAL_OR_EXIT(Graph graph, Exit::kUsage, zoo::build(flags.name, flags.options));
  if (Status written = onnx::write_onnx(graph, flags.output); !written.ok()) {
    return fail(Exit::kResources, written);
  }
  return {};
}

}  // namespace

void add_zoo(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "zoo", "List standard networks, or write one as ONNX", kExamples, list_or_write);
  command.add_option("name", flags.name, "Which network");
  command.add_option("--out,--output,-o", flags.output, "The ONNX file to write");
  command.add_option("--seed", flags.options.seed, "Seed of the random weights");
  command.add_option("--batch", flags.options.batch, "Images per run", in_range(1, 4096));
  command.add_option("--width", flags.options.width, "Share of the channels of every layer");
  command.add_option("--size", flags.options.size, "Rows and columns of images, tokens of texts");
}

}  // namespace shoal::cli
