#include "chimera/model/receive_buffers.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

TEST(ReceiveBuffers, ABufferIsUsedAgainOnlyWhenNobodyHoldsIt) {
  ReceiveBuffers buffers;
  at::Tensor first = buffers.take({2, 3}, at::kFloat);
  const void* place = first.const_data_ptr();
  at::Tensor view = first.narrow(0, 1, 1).detach().requires_grad_(true);
  first.reset();
  EXPECT_NE(buffers.take({2, 3}, at::kFloat).const_data_ptr(), place);
  // A graph that saved the tensor keeps it in use as well.
  at::Tensor loss = (view * view).sum();
  view.reset();
  EXPECT_NE(buffers.take({2, 3}, at::kFloat).const_data_ptr(), place);
  loss.reset();
  EXPECT_EQ(buffers.take({2, 3}, at::kFloat).const_data_ptr(), place);
  EXPECT_EQ(buffers.size(), 2U);
}

TEST(ReceiveBuffers, ShapeAndTypeAreThoseAskedFor) {
  ReceiveBuffers buffers;
  (void)buffers.take({2, 3}, at::kFloat);
  EXPECT_EQ(buffers.take({3, 2}, at::kFloat).sizes(), at::IntArrayRef({3, 2}));
  EXPECT_EQ(buffers.take({2, 3}, at::kDouble).scalar_type(), at::kDouble);
}

}  // namespace
}  // namespace chimera
