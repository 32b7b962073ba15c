// One function per network, with the name it has in the zoo.
#pragma once

#include "shoal/model/zoo/zoo.h"

namespace shoal::zoo {

// classic.cc
Result<Graph> logistic(const Options& options);
Result<Graph> lenet5(const Options& options);
Result<Graph> mlp(const Options& options);
Result<Graph> convnet(const Options& options);
Result<Graph> allcnn(const Options& options);
Result<Graph> nin(const Options& options);
Result<Graph> alexnet(const Options& options);

Result<Graph> vgg16(const Options& options);
Result<Graph> vgg16_cifar(const Options& options);
Result<Graph> resnet20(const Options& options);
Result<Graph> resnet56(const Options& options);
Result<Graph> resnet18(const Options& options);
Result<Graph> resnet50(const Options& options);
Result<Graph> mobilenetv2(const Options& options);
Result<Graph> squeezenet(const Options& options);
Result<Graph> tinyyolov2(const Options& options);
Result<Graph> c3d(const Options& options);

// transformer.cc
Result<Graph> encoder(const Options& options);
Result<Graph> seq2seq(const Options& options);

}  // namespace shoal::zoo
