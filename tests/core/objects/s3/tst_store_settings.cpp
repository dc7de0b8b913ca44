// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/store_settings.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>

namespace shardscope {

using objects::StoreSettings;
using Variables = std::map<std::string, std::string>;

namespace {

/// A home folder with the two files of the AWS tools.
class Home
{
public:
    Home(const std::string& credentials, const std::string& config)
    {
        std::filesystem::create_directories(m_folder / ".aws");
        test::spill(m_folder / ".aws/credentials", credentials);
        test::spill(m_folder / ".aws/config", config);
    }
    [[nodiscard]] std::filesystem::path path() const { return m_folder.path(); }
    [[nodiscard]] Result<StoreSettings> read(Variables variables) const
    {
        variables.try_emplace("HOME", path().string());
        return objects::storeSettings(io::realFileSystem(), [&](std::string_view name) {
            const auto found = variables.find(std::string(name));
            return found != variables.end() ? found->second : std::string();
        });
    }

private:
    test::TemporaryFolder m_folder;
};

const char* const kCredentials = "[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key=secret/+=\n"
                                 "# a comment\n[lab]\r\naws_access_key_id=AKLAB\r\n"
                                 "aws_secret_access_key=labsecret\r\naws_session_token=labtoken\r\n";
const char* const kConfig = "[default]\nregion = eu-west-1\n[profile lab]\nregion=eu-north-1\n"
                            "endpoint_url = https://store.lab:9000/\ns3 =\n    addressing_style = virtual\n"
                            "[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n"
                            "[profile sso]\nsso_session = work\n[profile open]\nregion=us-west-2\n";

} // namespace

TEST_CASE("keys and region of the default profile, and of another one")
{
    const Home home(kCredentials, kConfig);
    const auto usual = home.read({});
    REQUIRE(usual);
    REQUIRE(usual->keys);
    CHECK(usual->keys->access == "AKDEFAULT");
    CHECK(usual->keys->secret == "secret/+=");
    CHECK(usual->keys->session.empty());
    CHECK(usual->region == "eu-west-1");
    CHECK(usual->endpoint.empty());
    const auto lab = home.read({{"AWS_PROFILE", "lab"}});
    REQUIRE(lab);
    CHECK(lab->keys->access == "AKLAB");
    CHECK(lab->keys->session == "labtoken");
    CHECK(lab->region == "eu-north-1");
    CHECK(lab->endpoint == "https://store.lab:9000");
    CHECK(lab->bucketInHost);
}

TEST_CASE("the environment is asked before the files, and a pair of keys is never mixed")
{
    const Home home(kCredentials, kConfig);
    const auto read = home.read({{"AWS_PROFILE", "lab"}, {"AWS_ACCESS_KEY_ID", "AKENV"},
        {"AWS_SECRET_ACCESS_KEY", "envsecret"}, {"AWS_DEFAULT_REGION", "ap-east-1"},
        {"AWS_ENDPOINT_URL", "http://127.0.0.1:9000"}, {"AWS_CA_BUNDLE", "/etc/own.pem"}});
    REQUIRE(read);
    CHECK(read->keys->access == "AKENV");
    CHECK(read->keys->session.empty());
    CHECK(read->region == "ap-east-1");
    CHECK(read->endpoint == "http://127.0.0.1:9000");
    CHECK(read->certificates == "/etc/own.pem");
    CHECK(
        home.read({{"AWS_REGION", "sa-east-1"}, {"AWS_DEFAULT_REGION", "ap-east-1"}})->region == "sa-east-1");
    CHECK(home.read({{"AWS_ENDPOINT_URL", "http://a"}, {"AWS_ENDPOINT_URL_S3", "http://b"}})->endpoint
        == "http://b");
    const auto half = home.read({{"AWS_ACCESS_KEY_ID", "AKENV"}});
    REQUIRE_FALSE(half);
    CHECK(half.error().code == ErrorCode::Usage);
    CHECK(half.error().message.find("AWS_SECRET_ACCESS_KEY is missing") != std::string::npos);
}

TEST_CASE("variables name other files")
{
    const Home home(kCredentials, kConfig);
    const Home other(
        "[default]\naws_access_key_id=AKOTHER\naws_secret_access_key=s\n", "[default]\nregion=eu-west-3\n");
    const auto read
        = home.read({{"AWS_SHARED_CREDENTIALS_FILE", (other.path() / ".aws/credentials").string()},
            {"AWS_CONFIG_FILE", (other.path() / ".aws/config").string()}});
    REQUIRE(read);
    CHECK(read->keys->access == "AKOTHER");
    CHECK(read->region == "eu-west-3");
    CHECK(home.read({{"AWS_CONFIG_FILE", "~/.aws/absent"}})->region == "us-east-1");
}

TEST_CASE("without keys requests are not signed")
{
    const auto bare = Home("", "").read({});
    REQUIRE(bare);
    CHECK_FALSE(bare->keys);
    CHECK(bare->region == "us-east-1");
    CHECK(Home("", "").read({{"HOME", ""}}));
    const auto open = Home(kCredentials, kConfig).read({{"AWS_PROFILE", "open"}});
    REQUIRE(open);
    CHECK_FALSE(open->keys);
}

TEST_CASE("what gives keys in a way that is not read is named")
{
    const Home home(kCredentials, kConfig);
    for (const auto& [profile, way] : Variables{{"role", "role_arn"}, {"sso", "sso_session"}}) {
        const auto read = home.read({{"AWS_PROFILE", profile}});
        REQUIRE_FALSE(read);
        CHECK(read.error().code == ErrorCode::Unsupported);
        CHECK(read.error().message.find(way) != std::string::npos);
        CHECK(read.error().hint.text.find("export-credentials") != std::string::npos);
    }
    const auto container
        = Home("", "").read({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.2/x"}});
    REQUIRE_FALSE(container);
    CHECK(container.error().code == ErrorCode::Unsupported);
    CHECK(container.error().message.find("169.254") == std::string::npos);
    const auto absent = home.read({{"AWS_PROFILE", "absent"}});
    REQUIRE_FALSE(absent);
    CHECK(absent.error().code == ErrorCode::Usage);
}

TEST_CASE("an endpoint is a URL of a host, and its secrets are not shown")
{
    const Home home(kCredentials, kConfig);
    for (const char* url : {"127.0.0.1:9000", "ftp://host", "https://", "https://user:geheim@host",
             "https://host/?geheim", "https://ho st", "http:///x", "https://:443/x"}) {
        CAPTURE(url);
        const auto read = home.read({{"AWS_ENDPOINT_URL", url}});
        REQUIRE_FALSE(read);
        CHECK(read.error().code == ErrorCode::Usage);
        CHECK(describe(read.error()).find("geheim") == std::string::npos);
    }
    CHECK(
        home.read({{"AWS_ENDPOINT_URL", "https://[::1]:9000/base/"}})->endpoint == "https://[::1]:9000/base");
}

TEST_CASE("the usual port of an endpoint is left out, as it is not signed")
{
    const Home home(kCredentials, kConfig);
    for (const auto& [url, kept] : Variables{{"https://host:443", "https://host"},
             {"https://host:443/base/", "https://host/base"}, {"http://[::1]:80", "http://[::1]"},
             {"https://host:80", "https://host:80"}, {"http://host:443", "http://host:443"},
             {"https://host:1443", "https://host:1443"}, {"https://host/a:443", "https://host/a:443"}}) {
        CAPTURE(url);
        const auto read = home.read({{"AWS_ENDPOINT_URL", url}});
        REQUIRE(read);
        CHECK(read->endpoint == kept);
    }
}

TEST_CASE("files of the AWS tools: sections, comments, nested values, and lines that are none")
{
    const auto read = objects::parseIni(
        "lost = 1\n[a]\nx = 1\n ; c\ns3 =\n  y = 2\n  z=3\nw = 4 = 5\n[b\nu = 1\n[c ]\nv\n"
        "=\n  k = 1");
    CHECK(read.at("a").at("x") == "1");
    CHECK(read.at("a").at("s3.y") == "2");
    CHECK(read.at("a").at("s3.z") == "3");
    CHECK(read.at("a").at("w") == "4 = 5");
    CHECK_FALSE(read.contains("b"));
    CHECK(read.at("c").at("k") == "1");
    CHECK(objects::parseIni(std::string("[\0]\n\0=\0", 8)).size() <= 1);
}

} // namespace shardscope
