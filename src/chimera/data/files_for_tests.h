// Data files for tests, and the mistakes found in opening them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/files.h"
#include "chimera/base/result.h"
#include "chimera/data/data_source.h"

namespace chimera {

// Makes a file with this content and returns its path, different for each test
// and name.
inline std::string make_file(const std::string& name,
                             std::string_view content) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string path = testing::TempDir() + "chimera_" + test->test_suite_name() +
                     "_" + test->name() + "_" + name;
  write_file(path, content);
  return path;
}

// Little-endian uint16.
inline std::string as_bin(const std::vector<int>& ids) {
  std::string bytes;
  for (const int id : ids) {
    bytes.push_back(static_cast<char>(id & 0xFF));
    bytes.push_back(static_cast<char>(id >> 8));
  }
  return bytes;
}

// One mistake per line, with the first file called FILE; "" if there is none.
inline std::string mistakes_of(const DataOptions& options) {
  const auto source = open_data(options);
  if (source) return "";
  std::string text;
  for (const Diagnostic& mistake : source.errors()) {
    if (!text.empty()) text += "\n";
    text += to_string(mistake);
  }
  const std::string& path = options.paths[0];
  for (size_t at = text.find(path); at != std::string::npos;
       at = text.find(path)) {
    text.replace(at, path.size(), "FILE");
  }
  return text;
}

// REQUIRES: the files have no mistakes.
inline std::shared_ptr<const DataSource> opened(const DataOptions& options) {
  EXPECT_EQ(mistakes_of(options), "");
  return open_data(options).value();
}

}  // namespace chimera
