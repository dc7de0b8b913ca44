// SPDX-License-Identifier: Apache-2.0
#include "core/compute/torch/operations.h"
#include "core/compute/torch/tensors.h"

namespace shardscope::compute {

namespace {

constexpr int64_t kBins = 65536;

void countBins(const at::Tensor& values, ValueHistogram& histogram)
{
    // Shifting copies the sign in from above; the mask removes it again.
    const at::Tensor bins
        = values.to(at::kFloat).view(at::kInt).bitwise_right_shift(16).bitwise_and(kBins - 1);
    const at::Tensor counts = at::bincount(bins, {}, kBins);
    const auto* count = counts.data_ptr<int64_t>();
    for (int64_t bin = 0; bin < kBins; ++bin) {
        if (count[bin] != 0)
            histogram.add(static_cast<uint32_t>(bin), static_cast<uint64_t>(count[bin]));
    }
}

uint64_t countOf(const at::Tensor& mask)
{
    return static_cast<uint64_t>(mask.sum().item<int64_t>());
}

Statistics ofBlock(const at::Tensor& block, ValueHistogram* histogram)
{
    Statistics out;
    out.elements = static_cast<uint64_t>(block.numel());
    if (histogram != nullptr)
        countBins(block, *histogram);
    at::Tensor values = block.to(at::kDouble);
    const at::Tensor finite = at::isfinite(values);
    const uint64_t finiteCount = countOf(finite);
    if (finiteCount != out.elements) {
        out.nans = countOf(at::isnan(values));
        out.infinities = out.elements - finiteCount - out.nans;
        values = values.masked_select(finite);
    }
    if (finiteCount == 0)
        return out;
    out.zeros = countOf(values == 0);
    out.min = values.min().item<double>();
    out.max = values.max().item<double>();
    out.squares = values.square().sum().item<double>();
    out.magnitudes = values.abs().sum().item<double>();
    out.mean = values.sum().item<double>() / static_cast<double>(finiteCount);
    out.squaredDeviations = (values - out.mean).square().sum().item<double>();
    return out;
}

} // namespace

bool torchHasStatistics(DType dtype)
{
    return torchType(dtype).has_value();
}

Statistics torchStatistics(DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram)
{
    const at::Tensor all = over(bytes, dtype, *torchType(dtype));
    Statistics out;
    for (int64_t begin = 0; begin < all.numel(); begin += kBlockElements)
        out += ofBlock(
            all.narrow(0, begin, std::min<int64_t>(kBlockElements, all.numel() - begin)), histogram);
    return out;
}

} // namespace shardscope::compute
