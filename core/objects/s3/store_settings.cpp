// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/store_settings.h"

#include <algorithm>
#include <array>

namespace shardscope::objects {

namespace {

constexpr uint64_t kFileLimit = uint64_t{1} << 20;
constexpr std::string_view kSpace = " \t\r";

std::string_view trimmed(std::string_view text)
{
    const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
    text.remove_prefix(begin);
    return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

/// What a profile may have in place of keys, which is not read here.
constexpr std::array<std::string_view, 6> kOtherWays{"role_arn", "credential_process", "sso_session",
    "sso_start_url", "web_identity_token_file", "credential_source"};
constexpr std::array<std::string_view, 3> kOtherVariables{"AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"};

Hint exportedKeys()
{
    return {"`eval \"$(aws configure export-credentials --format env)\"` puts its keys into the environment",
        {{Retry::Shown}}};
}

/// Looks at one place after the other.
class SettingsReader
{
public:
    SettingsReader(io::FileSystem& files, const Environment& environment)
        : m_files(files)
        , m_environment(environment)
    {
    }

    Result<StoreSettings> read()
    {
        SHARDSCOPE_CHECK(findProfile());
        StoreSettings out;
        out.region = first({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
        if (out.region.empty())
            out.region = "us-east-1";
        out.certificates = first({"AWS_CA_BUNDLE"}, "ca_bundle");
        out.endpoint = first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
        out.bucketInHost = ofProfile("s3.addressing_style") == "virtual";
        SHARDSCOPE_CHECK(checkEndpoint(out));
        SHARDSCOPE_TRY(out.keys, keys());
        return out;
    }

private:
    [[nodiscard]] std::string variable(std::string_view name) const { return m_environment(name); }
    [[nodiscard]] std::string ofProfile(const std::string& key) const
    {
        for (const auto* profile : {&m_secrets, &m_config}) {
            if (const auto found = profile->find(key); found != profile->end())
                return found->second;
        }
        return {};
    }
    [[nodiscard]] std::string first(
        std::initializer_list<std::string_view> variables, const std::string& key) const
    {
        for (const std::string_view name : variables) {
            if (std::string value = variable(name); !value.empty())
                return value;
        }
        return ofProfile(key);
    }

    Result<IniSections> sectionsOf(std::string_view overriding, const char* usual) const
    {
        io::Path path = variable(overriding);
        if (path.empty() && variable("HOME").empty())
            return IniSections();
        if (path.empty())
            path = io::Path(variable("HOME")) / usual;
        else if (path.native().starts_with("~/"))
            path = io::Path(variable("HOME")) / path.native().substr(2);
        const auto text = m_files.readSmall(path, kFileLimit);
        if (!text && text.error().code != ErrorCode::NotFound)
            return forward(text.error());
        return text ? parseIni(*text) : IniSections();
    }

    Status findProfile()
    {
        std::string name = variable("AWS_PROFILE");
        const bool isNamed = !name.empty();
        if (!isNamed)
            name = "default";
        SHARDSCOPE_TRY(IniSections secrets, sectionsOf("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"));
        SHARDSCOPE_TRY(IniSections config, sectionsOf("AWS_CONFIG_FILE", ".aws/config"));
        const auto own = secrets.find(name);
        auto settings = config.find("profile " + name);
        if (settings == config.end() && name == "default")
            settings = config.find(name);
        if (isNamed && own == secrets.end() && settings == config.end())
            return fail(ErrorCode::Usage,
                "AWS_PROFILE names the profile `" + name + "`, which neither file of the AWS tools has", {},
                {"`aws configure list-profiles` names those that there are", {{Retry::Shown}}});
        if (own != secrets.end())
            m_secrets = std::move(own->second);
        if (settings != config.end())
            m_config = std::move(settings->second);
        return {};
    }

    static Status checkEndpoint(StoreSettings& settings)
    {
        std::string& url = settings.endpoint;
        while (url.ends_with('/'))
            url.pop_back();
        if (url.empty())
            return {};
        const size_t start = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
        const size_t path = std::min(url.find('/', start), url.size());
        const std::string_view usualPort = start == 8 ? ":443" : ":80";
        // libcurl leaves it out of the header "host", which is signed.
        if (start != 0 && std::string_view(url).substr(start, path - start).ends_with(usualPort))
            url.erase(path - usualPort.size(), usualPort.size());
        const std::string host = url.substr(start, url.find('/', start) - start);
        const bool isPlain = url.find_first_of("?#\\ \t\r\n\"<>") == std::string::npos;
        if (start == 0 || host.empty() || host.find('@') != std::string::npos || !isPlain)
            return fail(ErrorCode::Usage,
                "the endpoint of the object store is no URL of the form `https://HOST[:PORT]`", {},
                "correct AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or endpoint_url in the profile");
        return {};
    }

    [[nodiscard]] Result<std::optional<StoreKeys>> keys() const
    {
        StoreKeys out{
            variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_SESSION_TOKEN")};
        if (out.access.empty() && out.secret.empty())
            out = {ofProfile("aws_access_key_id"), ofProfile("aws_secret_access_key"),
                ofProfile("aws_session_token")};
        if (out.access.empty() != out.secret.empty())
            return fail(ErrorCode::Usage,
                std::string("only half of the keys for the object store is given: ")
                    + (out.access.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY") + " is missing");
        for (const std::string* part : {&out.access, &out.secret, &out.session}) {
            if (part->find_first_of("\r\n") != std::string::npos)
                return fail(ErrorCode::Usage, "a key for the object store has a line break");
        }
        if (!out.access.empty())
            return std::optional(std::move(out));
        for (const std::string_view way : kOtherWays) {
            if (!ofProfile(std::string(way)).empty())
                return fail(ErrorCode::Unsupported,
                    "the AWS profile takes its keys by `" + std::string(way) + "`, which is not read here",
                    {}, exportedKeys());
        }
        for (const std::string_view name : kOtherVariables) {
            if (!variable(name).empty())
                return fail(ErrorCode::Unsupported,
                    "keys for the object store by " + std::string(name) + " are not read here", {},
                    exportedKeys());
        }
        return std::optional<StoreKeys>();
    }

    io::FileSystem& m_files;
    const Environment& m_environment;
    std::map<std::string, std::string> m_secrets; ///< the profile in `credentials`
    std::map<std::string, std::string> m_config; ///< and in `config`
};

} // namespace

IniSections parseIni(std::string_view text)
{
    IniSections out;
    std::map<std::string, std::string>* section = nullptr;
    std::string outer; // the key whose value follows in indented lines
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::string_view words = trimmed(line);
        if (words.empty() || words.front() == '#' || words.front() == ';')
            continue;
        if (words.front() == '[') {
            const size_t end = words.find(']');
            section = end == std::string_view::npos ? nullptr
                                                    : &out[std::string(trimmed(words.substr(1, end - 1)))];
            outer.clear();
            continue;
        }
        const size_t equals = words.find('=');
        if (section == nullptr || equals == std::string_view::npos)
            continue;
        const bool isNested = kSpace.find(line.front()) != std::string_view::npos && !outer.empty();
        const std::string key(trimmed(words.substr(0, equals)));
        const std::string value(trimmed(words.substr(equals + 1)));
        if (!isNested)
            outer = value.empty() ? key : std::string();
        (*section)[isNested ? outer + "." + key : key] = value;
    }
    return out;
}

Result<StoreSettings> storeSettings(io::FileSystem& files, const Environment& environment)
{
    return SettingsReader(files, environment).read();
}

} // namespace shardscope::objects
