# SPDX-License-Identifier: BSD-3-Clause
# dalli behind the language of ../README.md.
#     ruby dalli.rb binary|meta HOST PORT
require "dalli"
require "logger"

Dalli.logger = Logger.new(File::NULL)
protocol, host, port = ARGV
if protocol == "meta" && Gem::Version.new(Dalli::VERSION) < Gem::Version.new("3.2")
  puts "unable dalli #{Dalli::VERSION} does not speak meta (since 3.2)"
  exit
end

# Values go raw, as bytes: append and incr need that.
class Talk
  RAW = { raw: true }.freeze

  def initialize(protocol, host, port)
    @make = lambda do
      options = { socket_timeout: 20, down_retry_delay: 0, socket_max_failures: 1, compress: false }
      options[:protocol] = :meta if protocol == "meta"
      Dalli::Client.new("#{host}:#{port}", options)
    end
    @client = @make.call
    @tokens = {}
  end

  def value_reply(value)
    value.nil? ? "none" : "value #{[value.to_s].pack('m0')}"
  end

  def number_reply(number)
    number.nil? ? "none" : "number #{number}"
  end

  def store(verb, key, ttl, value)
    case verb
    when "append", "prepend" then @client.public_send(verb, key, value)
    when "cas" then @client.set_cas(key, value, @tokens[key], ttl, RAW)
    else ![nil, false, 0].include?(@client.public_send(verb, key, value, ttl, RAW)) # 0: replace of a miss
    end
  end

  def gets(key)
    value, @tokens[key] = @client.get_cas(key)
    value_reply(value)
  end

  def multi(keys)
    "values " + @client.get_multi(*keys).map { |key, value| "#{key}=#{[value.to_s].pack('m0')}" }.join(" ")
  end

  def reopen
    @client.close
    @client = @make.call
  end

  def obey(verb, words)
    key = words[0]
    case verb
    when "get" then value_reply(@client.get(key, RAW))
    when "gets" then gets(key)
    when "gat" then value_reply(@client.gat(key, words[1].to_i))
    when "touch" then @client.touch(key, words[1].to_i) ? "yes" : "no"
    when "incr", "decr" then number_reply(@client.public_send(verb, key, words[1].to_i))
    when "multi" then multi(words)
    when "delete" then @client.delete(key) ? "yes" : "no"
    when "flush" then @client.flush.all? ? "yes" : "no"
    when "open" then reopen && "yes"
    else store(verb, key, words[1].to_i, (words[2] || "").unpack1("m0")) ? "yes" : "no"
    end
  end
end

talk = Talk.new(protocol, host, port)
$stdout.sync = true
puts "ready set get add replace append prepend cas incr decr touch gat delete multi flush"
$stdin.each_line do |line|
  verb, *words = line.split
  begin
    puts talk.obey(verb, words)
  rescue StandardError => e
    puts "error #{e.class} #{e.message.tr("\n", ' ')}"
  end
end
