/* Classifies an image of a digit: classify_c model.onnx image.png */
#include <shoal/c/shoal.h>
#include <stdio.h>

/* The index of the highest score. */
static int best_of(const shoal_tensor* scores) {
  const float* data = shoal_tensor_data(scores);
  const size_t count = shoal_tensor_bytes(scores) / sizeof *data;
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (data[i] > data[best]) best = i;
  }
  return (int)best;
}

static shoal_status* classify(const char* path, const char* file, int* answer) {
  shoal_value_info input = SHOAL_VALUE_INFO_INIT;
  shoal_model* model = NULL;
  shoal_session* session = NULL;
  shoal_tensor* image = NULL;
  shoal_result* result = NULL;
  shoal_status* status = shoal_model_open(path, &model);
  if (status == NULL) status = shoal_model_input(model, 0, &input);
  if (status == NULL) status = shoal_session_open(model, NULL, &session);
  if (status == NULL) status = shoal_tensor_read_image(file, 1, 28, 28, &image);
  if (status == NULL) {
    const shoal_tensor* inputs[] = {image};
    status = shoal_session_run(session, 1, &input.name, inputs, NULL, &result);
  }
  if (status == NULL) *answer = best_of(shoal_result_tensor(result, 0));
  shoal_result_free(result);
  shoal_tensor_free(image);
  shoal_session_free(session);
  shoal_model_free(model);
  return status;
}

int main(int argc, char** argv) {
  int answer = 0;
  if (argc != 3) {
    fprintf(stderr, "usage: classify_c MODEL.onnx IMAGE\n");
    return 2;
  }
  shoal_status* status = classify(argv[1], argv[2], &answer);
  if (status != NULL) {
    fprintf(stderr, "%s\n", shoal_status_message(status));
    shoal_status_free(status);
    return 1;
  }
  printf("class %d\n", answer);
  return 0;
}
