// SPDX-License-Identifier: Apache-2.0
#include "core/compute/torch/operations.h"
#include "core/compute/torch/tensors.h"

namespace shardscope::compute {

namespace {

constexpr int64_t kBrainNan = 0x7FC0; // what convert.h says; LibTorch makes one of several, by processor
constexpr double kLargestE4M3 = 448; // beyond it LibTorch before 2.15 makes NaN

/// Whether a NaN keeps what fits of its payload in float16, as convert.h says: Debian 12's LibTorch 1.13
/// makes all of them the same one. By whole vectors and by single elements, which have code of their own.
bool keepsHalfNans()
{
    static const bool keeps = [] {
        constexpr int64_t kElements = 67;
        constexpr int32_t kSingle = 0x7FA12000; // signalling
        constexpr int16_t kHalf = 0x7F09;
        const at::Tensor in = at::full({kElements}, kSingle, at::kInt).view(at::kFloat);
        return at::all(in.to(at::kHalf).view(at::kShort) == kHalf).item<bool>();
    }();
    return keeps;
}

} // namespace

bool torchCanConvert(DType from, DType to)
{
    return torchType(from) && torchType(to) && isFloatingPoint(to)
        && (to != DType::Float16 || !isFloatingPoint(from) || keepsHalfNans());
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
