// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/torch_file_sniff.h"

#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace shardscope {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kDecompress = "decompress it first";
constexpr std::string_view kResave = "load it with torch and save it again with torch 1.6 or newer";

struct Magic {
    std::string_view bytes;
    std::string_view name;
    ErrorCode refusal = ErrorCode::NotACheckpoint;
    std::string_view hint = {};
};

constexpr std::array kMagics{
    Magic{"PYTORCH1"sv, "a torch 1.0 preview container", ErrorCode::Unsupported, kResave},
    Magic{"PK\x05\x06"sv, "an empty zip archive"},
    Magic{"PK\x07\x08"sv, "a zip archive in several volumes"},
    Magic{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", ErrorCode::NotACheckpoint, kDecompress},
    Magic{"Rar!\x1a\x07"sv, "a RAR archive", ErrorCode::NotACheckpoint, kDecompress},
    Magic{"\x1f\x8b"sv, "gzip-compressed data", ErrorCode::NotACheckpoint, kDecompress},
    Magic{"\x28\xb5\x2f\xfd"sv, "zstd-compressed data", ErrorCode::NotACheckpoint, kDecompress},
    Magic{"\xfd"
          "7zXZ\x00"sv,
        "xz-compressed data", ErrorCode::NotACheckpoint, kDecompress},
    Magic{"BZh"sv, "bzip2-compressed data", ErrorCode::NotACheckpoint, kDecompress},
    Magic{"\x04\x22\x4d\x18"sv, "lz4-compressed data", ErrorCode::NotACheckpoint, kDecompress},
    Magic{"\x93NUMPY"sv, "a numpy array"},
    Magic{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    Magic{"GGUF"sv, "a GGUF model"},
    Magic{"\x7f"
          "ELF"sv,
        "an ELF program"},
    Magic{"MZ"sv, "a Windows program"},
    Magic{"%PDF"sv, "a PDF document"},
    Magic{"\x89PNG"sv, "a PNG picture"},
    Magic{"version https://git-lfs.github.com/spec/"sv, "a Git LFS pointer, not the file itself",
        ErrorCode::NotACheckpoint, "fetch the file with `git lfs pull`"},
    Magic{"version https://hawser.github.com/spec/"sv, "a Git LFS pointer, not the file itself",
        ErrorCode::NotACheckpoint, "fetch the file with `git lfs pull`"},
    Magic{"oid sha256:"sv, "a part of a Git LFS pointer", ErrorCode::NotACheckpoint,
        "fetch the file with `git lfs pull`"},
};

bool isHtml(std::string_view text)
{
    const size_t begin = std::min(text.find_first_not_of(" \t\r\n\xef\xbb\xbf"), text.size());
    std::string lower(text.substr(begin, 64));
    std::transform(lower.begin(), lower.end(), lower.begin(),
        [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return lower.starts_with("<!doctype html") || lower.starts_with("<html") || lower.starts_with("<head")
        || lower.starts_with("<?xml");
}

bool isText(std::string_view text)
{
    // A character split at the end of the piece does not make it binary.
    size_t whole = text.size();
    for (int cut = 0; cut < 4 && whole > 0 && !isValidUtf8(text.substr(0, whole)); ++cut)
        --whole;
    return isValidUtf8(text.substr(0, whole)) && std::all_of(text.begin(), text.end(), [](char c) {
        const auto u = static_cast<uint8_t>(c);
        return (u >= 0x20 && u != 0x7f) || c == '\n' || c == '\r' || c == '\t' || c == '\f';
    });
}

bool isSafetensors(std::string_view text, uint64_t fileBytes)
{
    if (text.size() < 10 || text[8] != '{')
        return false;
    uint64_t header = 0;
    std::memcpy(&header, text.data(), sizeof header);
    return header >= 2 && header <= fileBytes - 8;
}

} // namespace

FileKind sniffFile(std::span<const uint8_t> head, uint64_t fileBytes)
{
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    if (text.starts_with("PK\x03\x04"sv))
        return {"a zip archive", true, {}, {}};
    for (const Magic& magic : kMagics)
        if (text.starts_with(magic.bytes))
            return {magic.name, false, magic.refusal, magic.hint};
    if (text.size() >= 262 && text.substr(257, 5) == "ustar"sv)
        return {"a tar archive", false, ErrorCode::Unsupported, kResave};
    if (isSafetensors(text, fileBytes))
        return {"a safetensors file", false, ErrorCode::Unsupported,
            "a DeepSpeed checkpoint keeps its states in .pt files"};
    if (text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
        return {"a bare pickle", false, ErrorCode::Unsupported, kResave};
    if (isHtml(text))
        return {
            "a web page", false, ErrorCode::NotACheckpoint, "the download may have ended in an error page"};
    if (!text.empty() && text.find_first_not_of('\0') == std::string_view::npos)
        return {"filled with zeros at its start", false, ErrorCode::Damaged,
            "the machine may have stopped while it was saved; use an earlier checkpoint"};
    if (!text.empty() && isText(text))
        return {"plain text", false, ErrorCode::NotACheckpoint, {}};
    return {};
}

} // namespace shardscope
