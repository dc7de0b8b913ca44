// SPDX-License-Identifier: Apache-2.0
#include "core/layout/present_elements.h"

#include "core/base/checked.h"
#include "core/io/open_files.h"
#include "core/io/outage_watch.h"
#include "core/layout/element_reader.h"

#include <algorithm>
#include <optional>

namespace shardscope {

namespace {

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

/// What is missing, or why nothing could be read.
Result<Ranges> ended(Ranges missing, bool anyRead, std::optional<Error> firstError)
{
    if (anyRead || !firstError)
        return missing;
    if (firstError->code == ErrorCode::Refused || firstError->code == ErrorCode::NotFound)
        firstError->code = ErrorCode::Unreadable;
    return forward(*firstError);
}

} // namespace

Result<std::vector<std::pair<uint64_t, uint64_t>>> readPresentElements(
    io::FileSystem& files, const Checkpoint& checkpoint, const StateRange& range, std::span<uint8_t> out)
{
    std::vector<std::pair<uint64_t, uint64_t>> missing;
    const io::OutageWatch watch;
    // In one call if nothing is missing; else piece by piece.
    if (readElements(files, checkpoint, range, out))
        return missing;
    SHARDSCOPE_TRY(
        const auto fragments, fragmentsOf(checkpoint, range.param, range.state, range.begin, range.end));
    std::optional<Error> firstError;
    bool anyRead = fragments.empty();
    for (const Fragment& fragment : fragments) {
        const uint64_t first = fragment.paramOffset;
        const uint64_t last = first + fragment.elements;
        const uint64_t item = itemSize(fragment.dtype);
        const Status read = readElements(files, checkpoint, {range.param, range.state, first, last},
            out.subspan((first - range.begin) * item, fragment.elements * item));
        if (read) {
            anyRead = true;
            continue;
        }
        if (read.error().code == ErrorCode::Cancelled)
            return forward(read.error());
        if (!firstError)
            firstError = read.error();
        missing.emplace_back(first, last);
    }
    SHARDSCOPE_CHECK(watch.status());
    return ended(std::move(missing), anyRead, std::move(firstError));
}

namespace {

/// A part of a run that is in one piece of a file.
struct Piece {
    FileId file = kNoFile;
    uint64_t begin = 0; ///< elements
    uint64_t end = 0;
    uint64_t byteOffset = 0;
    std::span<uint8_t> out;
};

/// Reads pieces, and keeps what could not be read.
class PieceReader
{
public:
    PieceReader(io::FileSystem& files, const Checkpoint& checkpoint, Ranges& missing)
        : m_files(files)
        , m_checkpoint(checkpoint)
        , m_missing(missing)
    {
    }

    /// Pieces of at most io::filesAtATime() files.
    void read(std::span<const Piece> pieces)
    {
        std::vector<FileId> ids;
        std::vector<io::Path> paths;
        for (const Piece& piece : pieces) {
            if (!ids.empty() && ids.back() == piece.file)
                continue;
            ids.push_back(piece.file);
            paths.push_back(m_checkpoint.file(piece.file).path);
        }
        std::vector<io::FileSystem::Opened> opened = m_files.openReadAll(paths);
        std::vector<io::ReadRange> ranges;
        std::vector<const Piece*> asked;
        size_t at = 0;
        for (const Piece& piece : pieces) {
            at += ids[at] == piece.file ? 0 : 1;
            if (opened[at]) {
                if (const Status fits = checkOpened(m_checkpoint.file(ids[at]), **opened[at]); !fits)
                    opened[at] = forward(fits.error());
            }
            if (!opened[at]) {
                lose(piece, opened[at].error());
                continue;
            }
            ranges.push_back({opened[at]->get(), piece.byteOffset, piece.out});
            asked.push_back(&piece);
        }
        const std::vector<Status> results = m_files.readAll(ranges);
        for (size_t i = 0; i < results.size(); ++i) {
            if (!results[i])
                lose(*asked[i], results[i].error());
        }
        m_anyRead
            = m_anyRead || std::ranges::any_of(results, [](const Status& each) { return each.has_value(); });
    }

    [[nodiscard]] bool anyRead() const { return m_anyRead; }
    /// A stop before all others.
    [[nodiscard]] const std::optional<Error>& firstError() const { return m_firstError; }

private:
    void lose(const Piece& piece, const Error& error)
    {
        m_missing.emplace_back(piece.begin, piece.end);
        const bool isStop = error.code == ErrorCode::Cancelled; // then what is missing was given up
        if (!m_firstError || (isStop && m_firstError->code != ErrorCode::Cancelled))
            m_firstError = error;
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    Ranges& m_missing;
    bool m_anyRead = false;
    std::optional<Error> m_firstError;
};

/// For elements that are scattered in their file.
Result<Ranges> readOneByOne(io::FileSystem& files, const Checkpoint& checkpoint, const StateRuns& wanted,
    uint64_t item, std::span<uint8_t> out)
{
    Ranges missing;
    std::optional<Error> firstError;
    bool anyRead = false;
    for (const auto& [begin, end] : wanted.runs) {
        const size_t bytes = (end - begin) * item;
        auto lost = readPresentElements(
            files, checkpoint, {wanted.param, wanted.state, begin, end}, out.first(bytes));
        out = out.subspan(bytes);
        anyRead = anyRead || lost.has_value();
        if (lost)
            missing.insert(missing.end(), lost->begin(), lost->end());
        else if (lost.error().code == ErrorCode::Cancelled)
            return lost;
        else
            missing.emplace_back(begin, end);
        if (!lost && !firstError)
            firstError = lost.error();
    }
    std::ranges::sort(missing);
    return ended(std::move(missing), anyRead, std::move(firstError));
}

} // namespace

Result<Ranges> readPresentRuns(
    io::FileSystem& files, const Checkpoint& checkpoint, const StateRuns& wanted, std::span<uint8_t> out)
{
    SHARDSCOPE_TRY(const StateSource source, findState(checkpoint, wanted.param, wanted.state));
    const uint64_t item = itemSize(source.dtype);
    uint64_t bytes = 0;
    for (const auto& [begin, end] : wanted.runs) {
        if (begin > end || end > source.elements)
            return fail(ErrorCode::Usage, "a run of elements is not inside the parameter",
                checkpoint.params[index(wanted.param)].name);
        bytes += (end - begin) * item;
    }
    if (bytes != out.size())
        return fail(ErrorCode::Usage, "a buffer does not fit its elements");
    const io::OutageWatch watch;
    const bool isScattered = source.whole == nullptr ? checkpoint.transposedOrder(source.param).has_value()
                                                     : !source.whole->contiguous;
    if (isScattered)
        return readOneByOne(files, checkpoint, wanted, item, out);
    Ranges missing;
    std::vector<Piece> pieces;
    size_t at = 0;
    for (const auto& [begin, end] : wanted.runs) {
        forEachFragmentOf(checkpoint, source, begin, end, [&](const Fragment& each) {
            const uint64_t last = each.paramOffset + each.elements;
            if (each.file == kNoFile)
                missing.emplace_back(each.paramOffset, last);
            else
                pieces.push_back({each.file, each.paramOffset, last, each.byteOffset,
                    out.subspan(at + (each.paramOffset - begin) * item, each.bytes)});
            return true;
        });
        at += (end - begin) * item;
    }
    std::ranges::stable_sort(pieces, {}, &Piece::file);
    PieceReader reader(files, checkpoint, missing);
    const size_t most = io::filesAtATime();
    for (size_t first = 0; first < pieces.size();) {
        size_t last = first;
        size_t count = 0;
        for (; last < pieces.size(); ++last) {
            count += last == first || pieces[last].file != pieces[last - 1].file ? 1 : 0;
            if (count > most)
                break;
        }
        reader.read(std::span(pieces).subspan(first, last - first));
        first = last;
    }
    SHARDSCOPE_CHECK(watch.status());
    std::optional<Error> firstError = reader.firstError();
    if (firstError && firstError->code == ErrorCode::Cancelled)
        return forward(*firstError);
    if (!firstError && !missing.empty() && pieces.empty()) // the sentence that readElements() has for it
        return readPresentElements(files, checkpoint,
            {wanted.param, wanted.state, missing.front().first, missing.front().second},
            out.first((missing.front().second - missing.front().first) * item));
    std::ranges::sort(missing);
    return ended(std::move(missing), reader.anyRead(), std::move(firstError));
}

} // namespace shardscope
