#!/bin/sh
# One load by one client, in its own words: run.sh CONCURRENCY REQUESTS SEED. The result is result.json in this folder.
#
# In:  CLIENT (which), SERVER (http://host:port), MODEL (its name on the server), MODEL_PATH (folder with its tokenizer), CLIENTS (folder
# of the clients), SPARKBENCH and VENV (this program; the virtual environment of vLLM).
# The same for all, in each client's own options: chat endpoint, streamed, 64 tokens in, exactly 32 out, a closed loop, warm-up apart,
# prompts that no request before has begun like. What a client cannot say is left out here and stated in docs/agreement.md.
set -eu

client=$CLIENT concurrency=$1 requests=$2 seed=$3
isl=64 osl=32 warmup=8
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 DO_NOT_TRACK=1 TOKENIZERS_PARALLELISM=false
in_venv() { program=$1; shift; "$CLIENTS/$client/bin/$program" "$@"; }

case $client in
sparkbench)
    "$SPARKBENCH" load --url "$SERVER" --model "$MODEL" --tokenizer "$MODEL_PATH/tokenizer.json" --concurrency "$concurrency" \
        --requests "$requests" --warmup "$warmup" --isl "$isl" --osl "$osl" --seed "$seed" --json result.json
    ;;
vllm-bench)
    VLLM_TARGET_DEVICE=cpu VLLM_NO_USAGE_STATS=1 "$VENV/bin/vllm" bench serve --backend openai-chat --endpoint /v1/chat/completions \
        --base-url "$SERVER" --model "$MODEL_PATH" --served-model-name "$MODEL" --dataset-name random --random-input-len "$isl" \
        --random-output-len "$osl" --ignore-eos --num-prompts "$requests" --max-concurrency "$concurrency" --num-warmups "$warmup" \
        --seed "$seed" --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,99 --save-result --save-detailed \
        --result-filename result.json
    ;;
sglang)
    # Most of what it needs is in the environment of vLLM.
    PYTHONPATH=$(echo "$CLIENTS"/sglang/lib/python3*/site-packages) "$VENV/bin/python" -m sglang.benchmark.serving \
        --backend vllm-chat --base-url "$SERVER" --model "$MODEL_PATH" --served-model-name "$MODEL" \
        --tokenizer "$MODEL_PATH" --dataset-name random-ids --random-input-len "$isl" --random-output-len "$osl" --random-range-ratio 1 \
        --num-prompts "$requests" --max-concurrency "$concurrency" \
        --warmup-requests "$warmup" --seed "$seed" --output-details --output-file result.json
    ;;
guidellm)
    in_venv guidellm run --backend "kind=openai_http,target=$SERVER,model=$MODEL" --profile "kind=concurrent,streams=$concurrency" \
        --constraint "kind=max_requests,count=$requests" --data "kind=synthetic_text,prompt_tokens=$isl,output_tokens=$osl" \
        --tokenizer "kind=huggingface_auto,model=$MODEL_PATH" --seed "kind=static,value=$seed" \
        --output kind=json,path=result.json --disable-progress
    ;;
aiperf)
    # Offline it looks for a name of the hub only; online it takes a folder and asks nobody. It counts tokens with the tokenizer again,
    # which cannot be right for random weights and a made text, unless told to take the server's count.
    unset HF_HUB_OFFLINE TRANSFORMERS_OFFLINE
    in_venv aiperf profile --url "$SERVER" --model "$MODEL" --tokenizer "$MODEL_PATH" --endpoint-type chat --streaming \
        --concurrency "$concurrency" --request-count "$requests" --warmup-request-count "$warmup" --isl "$isl" --isl-stddev 0 \
        --osl "$osl" --osl-stddev 0 --use-server-token-count --extra-inputs ignore_eos:true --extra-inputs "min_tokens:$osl" --random-seed "$seed" \
        --artifact-dir out --ui none
    cp out/profile_export_aiperf.json result.json
    ;;
genai-bench)
    in_venv genai-bench benchmark --api-backend vllm --api-base "$SERVER" --api-key none --api-model-name "$MODEL" \
        --model-tokenizer "$MODEL_PATH" --task text-to-text --max-time-per-run 5 --max-requests-per-run "$requests" \
        --num-concurrency "$concurrency" --traffic-scenario "D($isl,$osl)" \
        --additional-request-params "{\"ignore_eos\": true, \"min_tokens\": $osl}" --experiment-base-dir . --experiment-folder-name out \
        --log-dir out-logs
    find out -name 'D*.json' -exec cp {} result.json \;
    ;;
llama-benchy)
    # Its text is a file that it would fetch; the prepare script put one where it keeps what it has fetched.
    HOME=$CLIENTS/llama-benchy/home
    in_venv llama-benchy --book-url licence --base-url "$SERVER/v1" --model "$MODEL" --tokenizer "$MODEL_PATH" --pp "$isl" --tg "$osl" --exact-tg \
        --concurrency "$concurrency" --runs "$((requests / concurrency))" --no-cache --skip-coherence --latency-mode none \
        --save-result result.json --format json
    ;;
*)
    echo "run.sh: no client $client" >&2
    exit 2
    ;;
esac
