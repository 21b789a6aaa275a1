// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The types of this library. Each scheme describes its own; here they are put together.
#include "header.hpp"
#include "ringforge/bfv/io.hpp"
#include "ringforge/bgv/io.hpp"
#include "ringforge/circuits/omr_compress.hpp"
#include "ringforge/circuits/omr_records.hpp"
#include "ringforge/circuits/psi.hpp"
#include "ringforge/circuits/psi_poly.hpp"
#include "ringforge/ckks/io.hpp"
#include "ringforge/fhew/records.hpp"
#include "ringforge/ltv/io.hpp"

namespace ringforge::io::detail {

std::vector<RecordType> built_in_types() {
  // What belongs to no scheme: the text that says what the ciphertexts behind it are, and the scalar of RFC 9497.
  std::vector<RecordType> all{{.code = kLabelType, .name = "label of ciphertexts", .max_body = 4096},
                              {.code = kOprfKeyType, .name = "key of an OPRF server", .max_body = 32, .secret = true}};
  for (auto&& types : {ckks::record_types(), bfv::record_types(), bgv::record_types(), fhew::record_types(),
                       ltv::record_types(), circuits::psi_record_types(), circuits::psi_poly_record_types(),
                       circuits::compression_record_types(), circuits::omr_record_types()})
    all.insert(all.end(), types.begin(), types.end());
  return all;
}

}  // namespace ringforge::io::detail
