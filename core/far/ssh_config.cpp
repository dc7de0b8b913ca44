// SPDX-License-Identifier: Apache-2.0
#include "core/far/ssh_config.h"

#include "core/base/glob.h"
#include "core/far/far_path.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

namespace shardscope::far {

namespace {

constexpr uint64_t kConfigLimit = uint64_t{1} << 20;
constexpr int kDeepest = 16; ///< as ssh itself
constexpr size_t kMostHosts = 1000;
constexpr size_t kMostFiles = 200; ///< files can include each other

struct Reader {
    io::FileSystem& files;
    io::Path folder; ///< of relative paths: ~/.ssh
    std::vector<std::string> hosts = {};
    size_t filesRead = 0;

    void take(const std::string& name)
    {
        const bool isPattern = name.find_first_of("*?!") != std::string::npos;
        if (!isPattern && farPathOf(farPath(name, "/")) && hosts.size() < kMostHosts
            && std::ranges::find(hosts, name) == hosts.end())
            hosts.push_back(name);
    }

    void include(std::string name, int depth)
    {
        if (name.starts_with("~/"))
            name = (folder.parent_path() / name.substr(2)).native();
        const io::Path path = folder / name; // an absolute one stays
        const std::string last = path.filename().native();
        if (last.find('*') == std::string::npos)
            return read(path, depth);
        const auto entries = files.list(path.parent_path());
        if (!entries)
            return;
        for (const io::DirectoryEntry& entry : *entries) {
            if (fitsGlob(last, entry.name))
                read(path.parent_path() / entry.name, depth);
        }
    }

    void read(const io::Path& path, int depth)
    {
        if (depth > kDeepest || ++filesRead > kMostFiles)
            return;
        const auto text = files.readSmall(path, kConfigLimit);
        if (!text)
            return;
        std::istringstream lines(*text);
        for (std::string line; std::getline(lines, line);) {
            std::erase(line, '"');
            std::string key;
            size_t at = line.find_first_not_of(" \t");
            for (; at < line.size() && std::isalpha(static_cast<unsigned char>(line[at])) != 0; ++at)
                key += static_cast<char>(std::tolower(static_cast<unsigned char>(line[at])));
            if (key != "host" && key != "include")
                continue;
            at = line.find_first_not_of(" \t", at);
            if (at < line.size() && line[at] == '=') // `Host = a` is allowed
                ++at;
            std::istringstream words(line.substr(std::min(at, line.size())));
            for (std::string word; words >> word && !word.starts_with('#');) {
                if (key == "host")
                    take(word);
                else
                    include(word, depth + 1);
            }
        }
    }
};

} // namespace

std::vector<std::string> hostsInSshConfig(io::FileSystem& files, const io::Path& config)
{
    Reader reader{files, config.parent_path()};
    reader.read(config, 0);
    return std::move(reader.hosts);
}

} // namespace shardscope::far
