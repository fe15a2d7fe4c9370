// Top-p, min-p and the draw, over candidates that top-k has left.
//
// Definitions as in llama.cpp (src/llama-sampling.cpp: llama_sampler_top_p, _min_p, _dist):
//   top-p  the shortest run of best candidates whose share of the total reaches p (Holtzman et al., "The
//          Curious Case of Neural Text Degeneration", 2020)
//   min-p  candidates whose probability is at least p times the best one's
// except that ties are broken by id and sums are exact (weight.hpp). Shares are compared as
// floats, like the parameters: 3 of 10 equal candidates do reach a top_p of 0.3.
#pragma once

#include <span>
#include <vector>

#include "sampling/candidate_key.hpp"
#include "sampling/draw.hpp"
#include "sampling/weight.hpp"

namespace glr::sampling {

// All of these take at least one candidate and keep at least the best. They may reorder `keys`.
// O(n) expected, without a sort of the whole.
void keep_top_p(std::vector<CandidateKey>& keys, const Weigher& weigher, float p);
void keep_min_p(std::vector<CandidateKey>& keys, const Weigher& weigher, float p);

// Draws in proportion to the weights, walking the candidates in ascending id order.
TokenId draw_token(std::vector<CandidateKey>& keys, const Weigher& weigher, const Draw& draw);

}  // namespace glr::sampling
