// SPDX-License-Identifier: Apache-2.0
#include "compute/torch/operations.h"
#include "compute/torch/tensors.h"

namespace shardscope::compute {

namespace {

constexpr int64_t kBrainNan = 0x7FC0; // what convert.h says; LibTorch makes one of several, by processor
constexpr double kLargestE4M3 = 448; // beyond it LibTorch before 2.15 makes NaN

} // namespace

bool torchCanConvert(DType from, DType to)
{
    return torchType(from) && torchType(to) && isFloatingPoint(to);
}

void torchConvert(const ElementCast& cast)
{
    const at::Tensor in = over(cast.in, cast.from, *torchType(cast.from));
    const at::Tensor out = over(cast.out, cast.to, *torchType(cast.to)).narrow(0, 0, in.numel());
    if (cast.to == DType::Float8E4M3)
        out.copy_(in.to(at::kFloat).clamp(-kLargestE4M3, kLargestE4M3));
    else if (itemSize(cast.to) < sizeof(float))
        out.copy_(in.to(at::kFloat)); // by way of float32, as convert.h says
    else
        out.copy_(in);
    if (cast.to == DType::BFloat16 && isFloatingPoint(cast.from))
        out.view(at::kShort).masked_fill_(at::isnan(in.to(at::kFloat)), kBrainNan);
}

} // namespace shardscope::compute
