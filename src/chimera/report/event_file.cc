// An event file is a sequence of records:
//   length (8 bytes) | masked crc32c(length) | data | masked crc32c(data)
// with little-endian numbers; each data is a protocol buffer `Event`. The
// fields used here, by number:
//   Event          1 wall_time (double)  2 step  3 file_version  5 summary
//   Summary        1 value (repeated)
//   Value          1 tag  2 simple_value (float)  8 tensor  9 metadata
//   TensorProto    1 dtype (7 = string)  2 tensor_shape (empty: a scalar)
//                  8 string_val
//   Metadata       1 plugin_data { 1 plugin_name }
#include "chimera/report/event_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <filesystem>

namespace chimera {
namespace {

// Wire types of protocol buffers.
enum Wire : std::uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5
};

template <class Unsigned>
void append_little_endian(Unsigned value, std::string& out) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out += static_cast<char>(value >> (8 * i) & 0xff);
  }
}

void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>((value & 0x7f) | 0x80);
  }
  out += static_cast<char>(value);
}

// A protocol buffer message under construction.
class Message {
 public:
  Message& varint(std::uint32_t field, std::uint64_t value) {
    key(field, kVarint);
    append_varint(value, out_);
    return *this;
  }
  Message& real64(std::uint32_t field, double value) {
    key(field, kFixed64);
    append_little_endian(std::bit_cast<std::uint64_t>(value), out_);
    return *this;
  }
  Message& real32(std::uint32_t field, float value) {
    key(field, kFixed32);
    append_little_endian(std::bit_cast<std::uint32_t>(value), out_);
    return *this;
  }
  Message& bytes(std::uint32_t field, std::string_view value) {
    key(field, kBytes);
    append_varint(value.size(), out_);
    out_ += value;
    return *this;
  }
  [[nodiscard]] const std::string& str() const { return out_; }

 private:
  void key(std::uint32_t field, Wire wire) {
    append_varint(field << 3 | wire, out_);
  }
  std::string out_;
};

std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string record(const Message& event) {
  const std::string& data = event.str();
  std::string length;
  append_little_endian(std::uint64_t{data.size()}, length);
  std::string out = length;
  append_little_endian(masked(crc32c(length)), out);
  out += data;
  append_little_endian(masked(crc32c(data)), out);
  return out;
}

Message event_at(std::int64_t step, double wall_time) {
  return Message()
      .real64(1, wall_time)
      .varint(2, static_cast<std::uint64_t>(step));
}

std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    table[byte] = crc;
  }
  return table;
}

std::string make_path(const std::string& directory, const std::string& writer,
                      double wall_time) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw IoError("cannot make " + directory + ": " + error.message());
  }
  return fmt::format("{}/events.out.tfevents.{:010}.{}", directory,
                     static_cast<std::int64_t>(wall_time), writer);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> kTable = make_crc_table();
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  }
  return ~crc;
}

EventFile::EventFile(const std::string& directory, const std::string& writer,
                     double wall_time)
    : path_(make_path(directory, writer, wall_time)), file_(path_) {
  file_.append(
      record(Message().real64(1, wall_time).bytes(3, "brain.Event:2")));
}

void EventFile::add_scalars(std::int64_t step, double wall_time,
                            const Scalars& scalars) {
  Message summary;
  for (const auto& [tag, value] : scalars) {
    summary.bytes(
        1, Message().bytes(1, tag).real32(2, static_cast<float>(value)).str());
  }
  file_.append(record(event_at(step, wall_time).bytes(5, summary.str())));
}

void EventFile::add_text(std::int64_t step, double wall_time,
                         const std::string& tag, const std::string& text) {
  constexpr std::uint64_t kString = 7;
  const Message tensor =
      Message().varint(1, kString).bytes(2, "").bytes(8, text);
  const Message metadata = Message().bytes(1, Message().bytes(1, "text").str());
  const Message value =
      Message().bytes(1, tag).bytes(8, tensor.str()).bytes(9, metadata.str());
  file_.append(record(event_at(step, wall_time)
                          .bytes(5, Message().bytes(1, value.str()).str())));
}

}  // namespace chimera
