// SPDX-License-Identifier: Apache-2.0
#include "core/serve/packing.h"

#include "core/serve/frame.h"

#include <algorithm>
#include <memory>

#include <libdeflate.h>

namespace shardscope::serve {

namespace {

constexpr int kLevel
    = 1; // metadata shrinks to a sixth at 200 MB/s; level 6 saves a tenth more at a third of this speed
constexpr size_t kLeast = 512;
constexpr size_t kProbe = size_t{16} << 10; ///< values hardly shrink, which the first bytes show

std::string packed(libdeflate_compressor* compressor, std::string_view payload)
{
    const size_t most = payload.size() - payload.size() / 4;
    std::string out(most, '\0');
    out.resize(libdeflate_zlib_compress(compressor, payload.data(), payload.size(), out.data(), out.size()));
    return out;
}

} // namespace

std::optional<std::string> deflated(std::string_view payload)
{
    if (payload.size() < kLeast)
        return std::nullopt;
    const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
        libdeflate_alloc_compressor(kLevel), libdeflate_free_compressor);
    if (!compressor
        || (payload.size() > 2 * kProbe && packed(compressor.get(), payload.substr(0, kProbe)).empty()))
        return std::nullopt;
    std::string out = packed(compressor.get(), payload);
    return out.empty() ? std::nullopt : std::optional(std::move(out));
}

Result<std::string> inflated(std::string_view packed, size_t bytes)
{
    // Deflate makes at most 1032 bytes of one.
    if (bytes > kPayloadLimitBytes || bytes / 1032 > packed.size())
        return fail(ErrorCode::Hostile, "a payload says that it is too large");
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
        libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
    std::string out(bytes, '\0');
    if (!decompressor
        || libdeflate_zlib_decompress(
               decompressor.get(), packed.data(), packed.size(), out.data(), out.size(), nullptr)
            != LIBDEFLATE_SUCCESS)
        return fail(ErrorCode::Hostile, "a deflated payload cannot be inflated");
    return out;
}

} // namespace shardscope::serve
