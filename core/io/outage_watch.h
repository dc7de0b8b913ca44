// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::io {

/// Notices, from its construction on, the first outage of this process: a reading call that failed because
/// the machine or the file system did (EIO, ESTALE, EMFILE, ENOMEM, …), not because of the path (absent, no
/// permission, a loop of links).
///
/// An outage says nothing about the data. Whoever concludes something from files, above all that one is
/// damaged or absent, has a watch and asks it in the end: an outage that a reader took for a fact is found
/// there. The calls of all threads count, those of other jobs, too: then a job fails that might have
/// succeeded. Thread-safe.
class OutageWatch
{
public:
    /// Of all hosts.
    OutageWatch();
    /// Of this machine, and of the hosts of these paths: another host says nothing about what is there.
    explicit OutageWatch(std::vector<Path> places);
    ~OutageWatch();
    OutageWatch(const OutageWatch&) = delete;
    OutageWatch& operator=(const OutageWatch&) = delete;

    /// The first outage.
    [[nodiscard]] Status status() const;
    /// `conclusion`, or the first outage in place of it. A stop stays a stop.
    template <class T>
    [[nodiscard]] T judged(T conclusion) const
    {
        const bool isStopped = !conclusion && conclusion.error().code == ErrorCode::Cancelled;
        if (Status seen = status(); !seen && !isStopped)
            return forward(std::move(seen).error());
        return conclusion;
    }

private:
    friend void noteOutage(const Error& error, std::string_view host);
    std::optional<Error> m_first;
    std::optional<std::vector<Path>> m_places; ///< nothing: all
};

/// Tells the watches of all places, or of a host: where `path` begins with its name and a colon.
void noteOutage(const Error& error, std::string_view host = {});

} // namespace shardscope::io
