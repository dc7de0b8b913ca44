// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/formats/safetensors_layout.h"

#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/torchfile/formats/safetensors_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace shardscope {

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000; ///< tensor.rs, MAX_HEADER_SIZE
constexpr size_t kLengthBytes = 8;

/// The order of tensor.rs's Dtype, which the writer sorts by, from the end.
constexpr std::array kWriterOrder{DType::UInt64, DType::Int64, DType::Float64, DType::Float32, DType::UInt32,
    DType::Int32, DType::BFloat16, DType::Float16, DType::UInt16, DType::Int16, DType::Float8E5M2Fnuz,
    DType::Float8E4M3Fnuz, DType::Float8E8M0, DType::Float8E4M3, DType::Float8E5M2, DType::Int8, DType::UInt8,
    DType::Bool};

size_t placeOf(DType dtype)
{
    return static_cast<size_t>(
        std::find(kWriterOrder.begin(), kWriterOrder.end(), dtype) - kWriterOrder.begin());
}

std::string quoted(const std::string& text)
{
    return nlohmann::json(text).dump();
}

Status checkTensor(const SafetensorsSpec& tensor)
{
    const std::string shown = "`" + toValidUtf8(tensor.name) + "`";
    if (safetensorsTypeName(tensor.dtype).empty())
        return fail(ErrorCode::Unsupported,
            shown + " has elements of " + std::string(dtypeName(tensor.dtype))
                + ", which a safetensors file cannot hold");
    if (!isValidUtf8(tensor.name) || tensor.name == "__metadata__")
        return fail(ErrorCode::Unsupported, shown + " is not a name that a safetensors file can hold", {},
            "give it another name with --rename");
    return {};
}

} // namespace

Result<SafetensorsLayout> SafetensorsLayout::make(
    const std::vector<SafetensorsSpec>& tensors, const std::map<std::string, std::string>& metadata)
{
    SafetensorsLayout out;
    out.order.resize(tensors.size());
    std::iota(out.order.begin(), out.order.end(), 0u);
    std::ranges::sort(out.order, [&](uint32_t a, uint32_t b) {
        return std::pair(placeOf(tensors[a].dtype), std::string_view(tensors[a].name))
            < std::pair(placeOf(tensors[b].dtype), std::string_view(tensors[b].name));
    });
    std::string text = "{";
    if (!metadata.empty())
        text += "\"__metadata__\":" + nlohmann::json(metadata).dump();
    uint64_t at = 0;
    for (const uint32_t i : out.order) {
        const SafetensorsSpec& tensor = tensors[i];
        SHARDSCOPE_CHECK(checkTensor(tensor));
        const auto elements = elementCount(tensor.shape);
        const auto bytes
            = elements ? checkedMultiply(*elements, uint64_t{itemSize(tensor.dtype)}) : std::nullopt;
        const auto end = bytes ? checkedAdd(at, *bytes) : std::nullopt;
        if (!end)
            return fail(ErrorCode::LimitExceeded, "the tensors are larger than any file");
        text += (text.size() > 1 ? "," : "") + quoted(tensor.name) + ":{\"dtype\":\""
            + std::string(safetensorsTypeName(tensor.dtype))
            + "\",\"shape\":" + nlohmann::json(tensor.shape).dump() + ",\"data_offsets\":["
            + std::to_string(at) + "," + std::to_string(*end) + "]}";
        at = *end;
    }
    text += "}";
    text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
    if (text.size() > kMaxHeaderBytes)
        return fail(ErrorCode::LimitExceeded, "the header of the safetensors file would be above 100 MB", {},
            "make smaller files with --shard-size");
    for (size_t i = 0; i < kLengthBytes; ++i)
        out.header += static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i));
    out.header += text;
    out.totalBytes = out.header.size() + at;
    return out;
}

} // namespace shardscope
