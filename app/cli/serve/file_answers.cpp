// SPDX-License-Identifier: Apache-2.0
#include "app/cli/serve/file_answers.h"

#include "core/io/open_files.h"
#include "core/io/outage_watch.h"
#include "core/serve/file_calls.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace shardscope::cli {

namespace {

using serve::FileCall;
using serve::FileResult;
namespace call = serve::call;

/// Usage for a path that is neither absolute nor below the user's home.
Result<io::Path> pathAsked(const std::string& path)
{
    if (path.starts_with('/') && path.find('\0') == std::string::npos)
        return io::Path(path);
    const char* const home = std::getenv("HOME");
    const bool isBelowHome = path == "~" || path.starts_with("~/");
    if (!isBelowHome || home == nullptr || *home != '/' || path.find('\0') != std::string::npos)
        return fail(ErrorCode::Usage, "the path is not absolute", path);
    return io::Path(home + path.substr(1));
}

Error changed(const io::Path& path)
{
    return {
        ErrorCode::SourceChanged, "the file has changed since it was opened", path.string(), "open it again"};
}

/// The calls of one request, those of one kind together: each waits once for a slow file system.
class FileAnswers
{
public:
    FileAnswers(io::FileSystem& files, std::span<const FileCall> calls)
        : m_files(files)
        , m_calls(calls)
        , m_results(calls.size())
        , m_paths(calls.size())
        , m_data(calls.size())
    {
    }

    std::vector<FileResult> run()
    {
        const io::OutageWatch watch;
        for (size_t i = 0; i < m_calls.size(); ++i) {
            if (auto path = pathAsked(m_calls[i].path))
                m_paths[i] = std::move(*path);
            else
                m_results[i].error = path.error();
        }
        single();
        infos();
        opened();
        reads();
        if (const Status seen = watch.status(); !seen) {
            for (FileResult& result : m_results)
                result.isOutage = result.error && result.error->path == seen.error().path;
        }
        return std::move(m_results);
    }

    [[nodiscard]] const std::vector<std::string>& data() const { return m_data; }

private:
    template <class Wanted>
    std::vector<size_t> those(const Wanted& wanted) const
    {
        std::vector<size_t> out;
        for (size_t i = 0; i < m_calls.size(); ++i) {
            if (!m_results[i].error && wanted(m_calls[i].call))
                out.push_back(i);
        }
        return out;
    }
    std::vector<io::Path> pathsOf(std::span<const size_t> indices) const
    {
        std::vector<io::Path> out;
        for (const size_t i : indices)
            out.push_back(m_paths[i]);
        return out;
    }
    template <class T, class Take>
    void keep(size_t i, Result<T> found, const Take& take)
    {
        if (found)
            take(m_results[i], std::move(*found));
        else
            m_results[i].error = std::move(found).error();
    }

    void single()
    {
        for (size_t i = 0; i < m_calls.size(); ++i) {
            const std::string& asked = m_calls[i].call;
            if (m_results[i].error)
                continue;
            if (asked == call::kList)
                keep(i, m_files.list(m_paths[i]),
                    [](FileResult& out, auto found) { out.entries = std::move(found); });
            else if (asked == call::kCanonical)
                keep(i, m_files.canonical(m_paths[i]),
                    [](FileResult& out, const io::Path& found) { out.path = found.string(); });
            else if (asked == call::kSpace)
                keep(i, m_files.space(m_paths[i]), [](FileResult& out, auto found) { out.space = found; });
            else if (asked == call::kSmall)
                keep(i, m_files.readSmall(m_paths[i], m_calls[i].bytes),
                    [&](FileResult& out, std::string found) {
                        out.bytes = found.size();
                        m_data[i] = std::move(found);
                    });
        }
    }

    void infos()
    {
        const auto asked
            = those([](const std::string& what) { return what == call::kStat || what == call::kUnchanged; });
        auto found = m_files.statAll(pathsOf(asked));
        for (size_t k = 0; k < asked.size(); ++k) {
            const size_t i = asked[k];
            keep(i, std::move(found[k]), [&](FileResult& out, const io::FileInfo& info) {
                out.info = info;
                if (m_calls[i].call == call::kUnchanged && info.identity != m_calls[i].identity)
                    out.error = changed(m_paths[i]);
            });
        }
    }

    void opened()
    {
        const auto asked = those([](const std::string& what) { return what == call::kOpen; });
        for (size_t begin = 0; begin < asked.size(); begin += io::filesAtATime()) {
            const auto some
                = std::span(asked).subspan(begin, std::min(io::filesAtATime(), asked.size() - begin));
            auto found = m_files.openReadAll(pathsOf(some));
            for (size_t k = 0; k < some.size(); ++k) {
                keep(some[k], std::move(found[k]), [](FileResult& out, std::unique_ptr<io::ReadFile> file) {
                    out.info = {io::FileType::Regular, file->identity(), 0};
                });
            }
        }
    }

    /// Calls of one file follow each other, so each file is opened once.
    void reads()
    {
        std::map<std::string, std::vector<size_t>> byPath;
        for (const size_t i : those([](const std::string& what) { return what == call::kRead; }))
            byPath[m_paths[i].string()].push_back(i);
        std::vector<const std::vector<size_t>*> files;
        for (const auto& [path, calls] : byPath)
            files.push_back(&calls);
        for (size_t begin = 0; begin < files.size(); begin += io::filesAtATime())
            readFiles(std::span(files).subspan(begin, std::min(io::filesAtATime(), files.size() - begin)));
    }

    void readFiles(std::span<const std::vector<size_t>* const> files)
    {
        std::vector<io::Path> paths;
        for (const std::vector<size_t>* const calls : files)
            paths.push_back(m_paths[calls->front()]);
        const auto found = m_files.openReadAll(paths);
        std::vector<io::ReadRange> ranges;
        std::vector<size_t> of;
        for (size_t k = 0; k < files.size(); ++k) {
            for (const size_t i : *files[k]) {
                if (!found[k]) {
                    m_results[i].error = found[k].error();
                } else if ((*found[k])->identity() != m_calls[i].identity) {
                    m_results[i].error = changed(m_paths[i]);
                } else {
                    m_data[i].resize(m_calls[i].bytes);
                    ranges.push_back({found[k]->get(), m_calls[i].offset,
                        std::span(reinterpret_cast<uint8_t*>(m_data[i].data()), m_data[i].size())});
                    of.push_back(i);
                }
            }
        }
        std::vector<Status> read = m_files.readAll(ranges);
        std::vector<const io::ReadFile*> readFrom;
        for (const io::ReadRange& range : ranges)
            readFrom.push_back(range.file);
        const std::vector<Status> unchanged = m_files.checkAllUnchanged(readFrom); // no bytes of two versions
        for (size_t k = 0; k < of.size(); ++k) {
            if (read[k])
                read[k] = unchanged[k];
            if (read[k])
                m_results[of[k]].bytes = m_data[of[k]].size();
            else
                m_results[of[k]].error = read[k].error();
        }
    }

    io::FileSystem& m_files;
    std::span<const FileCall> m_calls;
    std::vector<FileResult> m_results;
    std::vector<io::Path> m_paths;
    std::vector<std::string> m_data;
};

} // namespace

Result<std::string> answerFileCalls(io::FileSystem& files, std::string_view payload,
    const std::function<Status(std::string_view bytes)>& data)
{
    SHARDSCOPE_TRY(const std::vector<FileCall> calls, serve::parseFileCalls(payload));
    FileAnswers answers(files, calls);
    const std::vector<FileResult> results = answers.run();
    for (size_t i = 0; i < calls.size(); ++i) {
        if (!results[i].error)
            SHARDSCOPE_CHECK(data(answers.data()[i]));
    }
    return serve::fileResultsText(calls, results);
}

} // namespace shardscope::cli
