// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/compute_choice.h"

#include <map>
#include <string>

namespace shardscope {

/// Bytes per second of a backend at a task, with so many threads at once, from about a tenth of a second of
/// work on made-up float32 values.
double measuredRate(const ComputeBackend& backend, ComputeTask task, unsigned jobs);

/// Rates by key, kept as lines of text: "RATE KEY". Rates that cannot be read or written are ignored.
class RateMemory
{
public:
    RateMemory(io::FileSystem& files, io::Path file);
    [[nodiscard]] std::optional<double> find(const std::string& key) const;
    void keep(const std::string& key, double rate);

private:
    io::FileSystem& m_files;
    io::Path m_file;
    std::map<std::string, double> m_rates;
};

} // namespace shardscope
