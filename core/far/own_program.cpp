// SPDX-License-Identifier: Apache-2.0
#include "core/far/own_program.h"

#include "core/base/build_info.h"
#include "core/base/text.h"
#include "core/io/file_system.h"
#include "core/io/xxh3.h"

#include <algorithm>
#include <array>
#include <vector>

#include <sys/auxv.h>
#include <sys/utsname.h>

namespace shardscope::far {

namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

Status readPieces(const io::ReadFile& file, const std::function<Status(std::span<const uint8_t>)>& take)
{
    std::vector<uint8_t> buffer(kPieceBytes);
    for (uint64_t at = 0; at < file.size();) {
        const auto piece = std::span(buffer).first(std::min<uint64_t>(kPieceBytes, file.size() - at));
        SHARDSCOPE_CHECK(file.readAt(at, piece));
        SHARDSCOPE_CHECK(take(piece));
        at += piece.size();
    }
    return {};
}

std::string digestText(uint64_t number)
{
    std::array<char, 8> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(number >> (56 - 8 * i) & 0xff);
    return toHex({bytes.data(), bytes.size()});
}

std::optional<OwnProgram> programAt(const std::filesystem::path& path)
{
    const auto file = io::realFileSystem().openRead(path);
    if (!file)
        return std::nullopt;
    io::Xxh3 digest;
    const Status read = readPieces(**file, [&](std::span<const uint8_t> bytes) {
        digest.update(bytes);
        return Status();
    });
    if (!read)
        return std::nullopt;
    return OwnProgram{
        path, (*file)->size(), std::string(buildInfo().version) + "-" + digestText(digest.digest().low)};
}

std::optional<OwnProgram> findProgram()
{
    const std::filesystem::path self = "/proc/self/exe";
    if (::getauxval(AT_BASE) == 0) // no loader of shared libraries: a static program
        return programAt(self);
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::read_symlink(self, failed).parent_path();
    if (failed)
        return std::nullopt;
    // Beside it; where packages install it; where the window of a build tree finds it.
    for (const char* place :
        {"shardscope-static", "../lib/shardscope/shardscope-static", "../cli/shardscope-static"}) {
        if (auto found = programAt(folder / place))
            return found;
    }
    return std::nullopt;
}

} // namespace

std::optional<OwnProgram> OwnProgram::find()
{
    static const std::optional<OwnProgram> found = findProgram();
    return found;
}

Status OwnProgram::read(const std::function<Status(std::string_view)>& take) const
{
    SHARDSCOPE_TRY(const auto file, io::realFileSystem().openRead(path));
    if (file->size() != bytes)
        return fail(ErrorCode::Unreadable, "this program has been replaced since it was started",
            path.string(), "start it again");
    return readPieces(*file, [&](std::span<const uint8_t> piece) {
        return take({reinterpret_cast<const char*>(piece.data()), piece.size()});
    });
}

std::string ownMachine()
{
    utsname names{};
    return ::uname(&names) == 0 ? names.machine : "";
}

} // namespace shardscope::far
