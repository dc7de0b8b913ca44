// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/layout/element_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace shardscope {

/// Keeps a file open for consecutive fragments, and refuses a file that changed since the checkpoint was
/// opened.
class OpenElements
{
public:
    OpenElements(io::FileSystem& files, const Checkpoint& checkpoint)
        : m_files(files)
        , m_checkpoint(checkpoint)
    {
    }

    Result<const io::ReadFile*> open(FileId id)
    {
        if (m_open && m_id == id)
            return m_open.get();
        const CheckpointFile& file = m_checkpoint.file(id);
        m_id = kNoFile;
        SHARDSCOPE_TRY(m_open, m_files.openRead(file.path));
        SHARDSCOPE_CHECK(checkOpened(file, *m_open));
        m_id = id;
        return m_open.get();
    }

private:
    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    FileId m_id = kNoFile;
    std::unique_ptr<io::ReadFile> m_open;
};

Status checkOpened(const CheckpointFile& file, const io::ReadFile& opened)
{
    if (file.content && file.content->isBigEndian())
        return fail(ErrorCode::Unsupported, "the file has big-endian numbers, which are not supported",
            file.path.string());
    if (file.identity != io::FileIdentity{} && opened.identity() != file.identity)
        return fail(ErrorCode::SourceChanged, "the file changed since it was opened", file.path.string(),
            "open the checkpoint again");
    return {};
}

namespace {

constexpr uint64_t kWindowBytes = uint64_t{16} << 20;

tl::unexpected<Error> notStored(
    const Checkpoint& checkpoint, const StateSource& source, const Fragment& fragment)
{
    return fail(ErrorCode::Refused,
        fmt::format("elements {} to {} of \"{}\" cannot be read: the data of rank {} is missing",
            fragment.paramOffset, fragment.paramOffset + fragment.elements,
            checkpoint.params[index(source.param)].name, rankText(fragment.rank)),
        checkpoint.tagFolder.string(), Hint::command("inspect") + " lists missing files");
}

/// Elements [begin, end) of a state, and where they go.
struct ElementRequest {
    const Checkpoint& checkpoint;
    const StateSource& source;
    const std::string& name; ///< of the parameter that was requested, maybe an alias
    uint64_t begin = 0;
    uint64_t end = 0;
    std::span<uint8_t> out;
};

/// Visits the fragments of a request. All of them must be stored, and cover it.
template <class Visit>
Status forEachStored(const ElementRequest& request, Visit visit)
{
    Status status;
    uint64_t covered = 0;
    forEachFragmentOf(
        request.checkpoint, request.source, request.begin, request.end, [&](const Fragment& piece) {
            status = piece.file == kNoFile ? Status(notStored(request.checkpoint, request.source, piece))
                                           : visit(piece);
            covered += piece.elements;
            return status.has_value();
        });
    SHARDSCOPE_CHECK(status);
    if (covered != request.end - request.begin)
        return fail(ErrorCode::Damaged,
            fmt::format("the strides of \"{}\" do not fit its shape", request.name),
            request.checkpoint.tagFolder.string());
    return {};
}

/// Many small pieces of one file: reads its bytes [firstByte, lastByte) window by window, and scatters every
/// window into the output.
Status gather(const io::ReadFile& file, const ElementRequest& request, uint64_t firstByte, uint64_t lastByte)
{
    const uint64_t itemBytes = itemSize(request.source.dtype);
    std::vector<uint8_t> window;
    for (uint64_t windowBegin = firstByte; windowBegin < lastByte; windowBegin += kWindowBytes) {
        const uint64_t windowEnd = std::min(lastByte, windowBegin + kWindowBytes);
        window.clear();
        Status status;
        const auto take = [&](const Fragment& piece) {
            const uint64_t copyBegin = std::max(piece.byteOffset, windowBegin);
            const uint64_t copyEnd = std::min(piece.byteOffset + piece.bytes, windowEnd);
            if (copyBegin >= copyEnd)
                return true;
            if (window.empty()) { // windows without elements are not read
                window.resize(windowEnd - windowBegin);
                status = file.readAt(windowBegin, window);
                if (!status)
                    return false;
            }
            const uint64_t target
                = (piece.paramOffset - request.begin) * itemBytes + (copyBegin - piece.byteOffset);
            std::memcpy(
                request.out.data() + target, window.data() + (copyBegin - windowBegin), copyEnd - copyBegin);
            return true;
        };
        forEachFragmentOf(request.checkpoint, request.source, request.begin, request.end, take);
        SHARDSCOPE_CHECK(status);
    }
    return {};
}

/// Every fragment where it belongs.
Status readPacked(OpenElements& opener, const ElementRequest& request)
{
    const uint64_t itemBytes = itemSize(request.source.dtype);
    return forEachStored(request, [&](const Fragment& piece) -> Status {
        SHARDSCOPE_TRY(const io::ReadFile* file, opener.open(piece.file));
        const uint64_t target = (piece.paramOffset - request.begin) * itemBytes;
        return file->readAt(piece.byteOffset, request.out.subspan(target, piece.bytes));
    });
}

/// A whole tensor whose elements are not consecutive.
Status readStrided(OpenElements& opener, const ElementRequest& request)
{
    uint64_t firstByte = std::numeric_limits<uint64_t>::max();
    uint64_t lastByte = 0;
    SHARDSCOPE_CHECK(forEachStored(request, [&](const Fragment& piece) -> Status {
        firstByte = std::min(firstByte, piece.byteOffset);
        lastByte = std::max(lastByte, piece.byteOffset + piece.bytes);
        return {};
    }));
    if (request.begin == request.end)
        return {};
    SHARDSCOPE_TRY(const io::ReadFile* file, opener.open(request.source.whole->run.file));
    return gather(*file, request, firstByte, lastByte);
}

/// Elements [begin, end) of a matrix stored column by column: reads the stored run that contains all of them
/// window by window, and scatters every window into `out`.
class TransposedRead
{
public:
    TransposedRead(OpenElements& opener, const Checkpoint& checkpoint, const StateSource& source,
        const TransposedOrder& order)
        : m_opener(opener)
        , m_checkpoint(checkpoint)
        , m_source(source)
        , m_order(order)
        , m_itemBytes(itemSize(source.dtype))
    {
    }

    Status read(uint64_t begin, uint64_t end, std::span<uint8_t> out)
    {
        const uint64_t firstRow = begin / m_order.columns;
        const uint64_t lastRow = (end - 1) / m_order.columns;
        const bool oneRow = firstRow == lastRow;
        const uint64_t firstColumn = oneRow ? begin % m_order.columns : 0;
        const uint64_t lastColumn = oneRow ? (end - 1) % m_order.columns : m_order.columns - 1;
        const uint64_t stop = lastColumn * m_order.rows + lastRow + 1;
        const uint64_t step = kWindowBytes / m_itemBytes;
        for (uint64_t at = firstColumn * m_order.rows + firstRow; at < stop; at += step) {
            SHARDSCOPE_CHECK(fill(at, std::min(stop, at + step)));
            SHARDSCOPE_CHECK(spread(at, {firstRow, lastRow}, begin, end, out));
        }
        return {};
    }

private:
    /// Reads stored elements [from, to) into the window and records missing ones.
    Status fill(uint64_t from, uint64_t to)
    {
        m_window.assign((to - from) * m_itemBytes, 0);
        m_missing.clear();
        Status status;
        forEachStoredFragmentOf(m_checkpoint, m_source, from, to, [&](const Fragment& piece) {
            if (piece.file == kNoFile) {
                m_missing.push_back(piece);
                return true;
            }
            const auto file = m_opener.open(piece.file);
            status = file ? (*file)->readAt(piece.byteOffset,
                         std::span(m_window).subspan((piece.paramOffset - from) * m_itemBytes, piece.bytes))
                          : Status(forward(file.error()));
            return status.has_value();
        });
        return status;
    }

    Status spread(uint64_t from, std::pair<uint64_t, uint64_t> rows, uint64_t begin, uint64_t end,
        std::span<uint8_t> out)
    {
        const uint64_t to = from + m_window.size() / m_itemBytes;
        for (uint64_t column = from / m_order.rows; column * m_order.rows < to; ++column) {
            const uint64_t top = column * m_order.rows;
            const uint64_t first = std::max(top + rows.first, from);
            const uint64_t last = std::min(top + rows.second + 1, to);
            for (uint64_t stored = first; stored < last; ++stored) {
                const uint64_t element = m_order.elementOf(stored);
                if (element < begin || element >= end)
                    continue;
                for (const Fragment& gap : m_missing) {
                    if (stored >= gap.paramOffset && stored - gap.paramOffset < gap.elements)
                        return notStored(m_checkpoint, m_source, gap);
                }
                std::memcpy(out.data() + (element - begin) * m_itemBytes,
                    m_window.data() + (stored - from) * m_itemBytes, m_itemBytes);
            }
        }
        return {};
    }

    OpenElements& m_opener;
    const Checkpoint& m_checkpoint;
    const StateSource& m_source;
    TransposedOrder m_order;
    uint64_t m_itemBytes;
    std::vector<uint8_t> m_window;
    std::vector<Fragment> m_missing;
};

} // namespace

ElementReader::ElementReader(io::FileSystem& files, const Checkpoint& checkpoint)
    : m_checkpoint(checkpoint)
    , m_open(std::make_unique<OpenElements>(files, checkpoint))
{
}

ElementReader::~ElementReader() = default;

Status ElementReader::read(const StateRange& range, std::span<uint8_t> out)
{
    const auto [param, state, begin, end] = range;
    SHARDSCOPE_TRY(const StateSource source, findState(m_checkpoint, param, state));
    const std::string& name = m_checkpoint.params[index(param)].name;
    if (begin > end || end > source.elements)
        return fail(ErrorCode::Usage,
            fmt::format(
                "elements {} to {} are not inside \"{}\", which has {}", begin, end, name, source.elements));
    const auto bytes = checkedMultiply(end - begin, uint64_t{itemSize(source.dtype)});
    if (!bytes || *bytes != out.size())
        return fail(ErrorCode::Usage,
            fmt::format("a buffer of {} bytes does not fit {} elements of {}", out.size(), end - begin,
                dtypeName(source.dtype)));

    if (const auto order
        = source.whole == nullptr ? m_checkpoint.transposedOrder(source.param) : std::nullopt)
        return begin == end ? Status()
                            : TransposedRead(*m_open, m_checkpoint, source, *order).read(begin, end, out);
    const ElementRequest request{m_checkpoint, source, name, begin, end, out};
    if (source.whole == nullptr || source.whole->contiguous)
        return readPacked(*m_open, request);
    return readStrided(*m_open, request);
}

Status readElements(
    io::FileSystem& files, const Checkpoint& checkpoint, const StateRange& range, std::span<uint8_t> out)
{
    return ElementReader(files, checkpoint).read(range, out);
}

} // namespace shardscope
