// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/layout/fragments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace shardscope {

namespace {

constexpr uint64_t kWindowBytes = uint64_t{16} << 20;

/// Opens each file once while consecutive fragments lie in it, and refuses one that is not what was looked
/// at.
class Opener
{
public:
    Opener(io::FileSystem& files, const Checkpoint& checkpoint)
        : m_files(files)
        , m_checkpoint(checkpoint)
    {
    }

    Result<const io::ReadFile*> open(FileId id)
    {
        if (m_open && m_id == id)
            return m_open.get();
        const CheckpointFile& file = m_checkpoint.file(id);
        if (file.content && file.content->isBigEndian())
            return fail(ErrorCode::Unsupported, "the file holds big-endian numbers, which are not read",
                file.path.string());
        SHARDSCOPE_TRY(m_open, m_files.openRead(file.path));
        m_id = id;
        if (file.identity != io::FileIdentity{} && m_open->identity() != file.identity)
            return fail(ErrorCode::SourceChanged, "the file changed since it was opened", file.path.string(),
                "open the checkpoint again");
        return m_open.get();
    }

private:
    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    FileId m_id = kNoFile;
    std::unique_ptr<io::ReadFile> m_open;
};

tl::unexpected<Error> notStored(
    const Checkpoint& checkpoint, const StateSource& source, const Fragment& fragment)
{
    return fail(ErrorCode::Refused,
        fmt::format("elements {} to {} of \"{}\" cannot be read: what rank {} should hold is missing",
            fragment.paramOffset, fragment.paramOffset + fragment.elements,
            checkpoint.params[index(source.param)].name, rankText(fragment.rank)),
        checkpoint.tagFolder.string(), "`shardscope inspect` lists what is missing");
}

/// Many small pieces of one file: its range is read window by window, and every window is spread over `out`.
Status gather(const io::ReadFile& file, const Checkpoint& checkpoint, const StateSource& source,
    uint64_t begin, uint64_t end, uint64_t firstByte, uint64_t lastByte, std::span<uint8_t> out)
{
    const uint64_t itemBytes = itemSize(source.dtype);
    std::vector<uint8_t> window;
    for (uint64_t windowBegin = firstByte; windowBegin < lastByte; windowBegin += kWindowBytes) {
        const uint64_t windowEnd = std::min(lastByte, windowBegin + kWindowBytes);
        window.clear();
        Status status;
        forEachFragmentOf(checkpoint, source, begin, end, [&](const Fragment& piece) {
            const uint64_t copyBegin = std::max(piece.byteOffset, windowBegin);
            const uint64_t copyEnd = std::min(piece.byteOffset + piece.bytes, windowEnd);
            if (copyBegin >= copyEnd)
                return true;
            if (window.empty()) { // windows that hold nothing are not read
                window.resize(windowEnd - windowBegin);
                status = file.readAt(windowBegin, window);
                if (!status)
                    return false;
            }
            const uint64_t target = (piece.paramOffset - begin) * itemBytes + (copyBegin - piece.byteOffset);
            std::memcpy(out.data() + target, window.data() + (copyBegin - windowBegin), copyEnd - copyBegin);
            return true;
        });
        SHARDSCOPE_CHECK(status);
    }
    return {};
}

} // namespace

Status readElements(io::FileSystem& files, const Checkpoint& checkpoint, ParamId param,
    std::string_view state, uint64_t begin, uint64_t end, std::span<uint8_t> out)
{
    SHARDSCOPE_TRY(const StateSource source, findState(checkpoint, param, state));
    const std::string& name = checkpoint.params[index(param)].name;
    if (begin > end || end > source.elements)
        return fail(ErrorCode::Usage,
            fmt::format(
                "elements {} to {} are not inside \"{}\", which has {}", begin, end, name, source.elements));
    const uint64_t itemBytes = itemSize(source.dtype);
    const auto bytes = checkedMultiply(end - begin, itemBytes);
    if (!bytes || *bytes != out.size())
        return fail(ErrorCode::Usage,
            fmt::format("a buffer of {} bytes does not fit {} elements of {}", out.size(), end - begin,
                dtypeName(source.dtype)));

    Opener opener(files, checkpoint);
    Status status;
    const bool packed = source.whole == nullptr || source.whole->contiguous;
    uint64_t firstByte = std::numeric_limits<uint64_t>::max();
    uint64_t lastByte = 0;
    uint64_t covered = 0;
    forEachFragmentOf(checkpoint, source, begin, end, [&](const Fragment& piece) {
        if (piece.file == kNoFile) {
            status = notStored(checkpoint, source, piece);
            return false;
        }
        covered += piece.elements;
        if (!packed) {
            firstByte = std::min(firstByte, piece.byteOffset);
            lastByte = std::max(lastByte, piece.byteOffset + piece.bytes);
            return true;
        }
        const auto file = opener.open(piece.file);
        status = file ? (*file)->readAt(
                     piece.byteOffset, out.subspan((piece.paramOffset - begin) * itemBytes, piece.bytes))
                      : Status(forward(file.error()));
        return status.has_value();
    });
    SHARDSCOPE_CHECK(status);
    if (covered != end - begin)
        return fail(ErrorCode::Damaged, fmt::format("the strides of \"{}\" do not fit its shape", name),
            checkpoint.tagFolder.string());
    if (packed || begin == end)
        return {};
    SHARDSCOPE_TRY(const io::ReadFile* file, opener.open(source.whole->run.file));
    return gather(*file, checkpoint, source, begin, end, firstByte, lastByte, out);
}

} // namespace shardscope
