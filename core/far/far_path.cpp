// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_path.h"

#include "core/base/shell_quote.h"
#include "core/objects/object_path.h"

#include <algorithm>
#include <cctype>

namespace shardscope::far {

namespace {

constexpr std::string_view kNameCharacters
    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr std::string_view kAddressCharacters = "0123456789abcdefABCDEF:.%";

/// A name that ssh cannot take for an option.
bool isName(std::string_view text)
{
    return !text.empty() && text.front() != '-'
        && text.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

bool isHost(std::string_view text)
{
    if (const size_t at = text.find('@'); at != std::string_view::npos) {
        if (!isName(text.substr(0, at)))
            return false;
        text.remove_prefix(at + 1);
    }
    if (text.size() > 2 && text.front() == '[' && text.back() == ']')
        return text.substr(1, text.size() - 2).find_first_not_of(kAddressCharacters)
            == std::string_view::npos;
    return isName(text);
}

/// The colon after the host; npos if there is none. An address in brackets has colons of its own.
size_t colonOf(std::string_view text)
{
    const size_t slash = std::min(text.find('/'), text.size());
    const std::string_view first = text.substr(0, slash);
    const size_t bracket = first.find(']');
    const size_t from = bracket != std::string_view::npos && first.find('[') < bracket ? bracket : 0;
    return first.find(':', from);
}

} // namespace

std::optional<FarPath> farPathOf(const io::Path& path)
{
    const std::string& text = path.native();
    const size_t colon = colonOf(text);
    if (colon == std::string::npos || !isHost(std::string_view(text).substr(0, colon)))
        return std::nullopt;
    const std::string_view there = std::string_view(text).substr(colon + 1);
    const bool isBelowHome = there == "~" || there.starts_with("~/");
    if ((!there.starts_with('/') && !isBelowHome) || there.starts_with("//"))
        return std::nullopt; // "//" is of a URL
    return FarPath{text.substr(0, colon), io::Path(there)};
}

bool isFar(const io::Path& path)
{
    return farPathOf(path).has_value();
}

bool isElsewhere(const io::Path& path)
{
    return isFar(path) || objects::isObject(path);
}

io::Path farPath(std::string_view host, const io::Path& there)
{
    return std::string(host) + ":" + there.string();
}

std::string typedPath(const std::string& text)
{
    const size_t colon = colonOf(text);
    if (colon == std::string::npos || isFar(text) || !isHost(std::string_view(text).substr(0, colon)))
        return text;
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(text, ignored)))
        return text;
    const std::string there = text.substr(colon + 1);
    if (there.starts_with('/') || there.starts_with('~')) // a URL, or the home folder of somebody else
        return text;
    return text.substr(0, colon) + ":~" + (there.empty() ? "" : "/" + there);
}

std::string driveHint(std::string_view host)
{
    if (host.size() != 1 || std::isalpha(static_cast<unsigned char>(host.front())) == 0)
        return {};
    const std::string letter(host);
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(host.front())));
    return letter
        + ": looks like a drive of Windows, but the name in front of a colon is a host; in WSL, this "
        + "drive is /mnt/" + lower;
}

std::string sshName(std::string_view host)
{
    std::string out(host);
    std::erase_if(out, [](char c) { return c == '[' || c == ']'; });
    return out;
}

std::string sshCommand(std::string_view host, const std::string& command)
{
    return "ssh " + sshName(host) + " " + shellQuoted(command);
}

} // namespace shardscope::far
