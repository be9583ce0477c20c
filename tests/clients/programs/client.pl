# SPDX-License-Identifier: BSD-3-Clause
# Cache::Memcached, Cache::Memcached::Fast and Memcached::libmemcached behind the language of ../README.md.
#     perl client.pl cache-memcached|cache-memcached-fast|libmemcached-text|libmemcached-binary HOST PORT
use strict;
use warnings;
use MIME::Base64;

my ($name, $host, $port) = @ARGV;

package CacheMemcached {
    sub can_do { "set get add replace append prepend incr decr delete multi flush" }

    sub new {
        my ($class, $host, $port) = @_;
        require Cache::Memcached;
        my $client = Cache::Memcached->new({ servers => ["$host:$port"], compress_threshold => 0 });
        $client->set_connect_timeout(5);
        return bless { client => $client }, $class;
    }

    sub store {
        my ($self, $verb, $key, $ttl, $value) = @_;
        $self->{client}->forget_dead_hosts;
        return $self->{client}->$verb($key, $value, $ttl || ());
    }

    sub get {
        my ($self, $key) = @_;
        $self->{client}->forget_dead_hosts;
        return $self->{client}->get($key);
    }

    sub number { my ($self, $verb, $key, $by) = @_; return $self->{client}->$verb($key, $by) }
    sub delete { my ($self, $key) = @_; return $self->{client}->delete($key) }
    sub multi  { my ($self, @keys) = @_; return $self->{client}->get_multi(@keys) }
    sub flush  { my ($self) = @_; return $self->{client}->flush_all }
}

package CacheMemcachedFast {
    our @ISA = ("CacheMemcached");

    sub can_do { "set get add replace append prepend cas incr decr touch gat delete multi flush" }

    sub new {
        my ($class, $host, $port) = @_;
        require Cache::Memcached::Fast;
        my $client = Cache::Memcached::Fast->new({
            servers => ["$host:$port"], compress_threshold => -1, io_timeout => 20, max_failures => 0 });
        return bless { client => $client, tokens => {} }, $class;
    }

    sub store {
        my ($self, $verb, $key, $ttl, $value) = @_;
        return $self->{client}->cas($key, $self->{tokens}{$key}, $value, $ttl) if $verb eq "cas";
        return $self->{client}->$verb($key, $value) if $verb =~ /pend/;
        return $self->{client}->$verb($key, $value, $ttl);
    }

    sub get { my ($self, $key) = @_; return $self->{client}->get($key) }

    sub gets {
        my ($self, $key) = @_;
        my $found = $self->{client}->gets($key) or return undef;
        $self->{tokens}{$key} = $found->[0];
        return $found->[1];
    }

    # A miss is the empty string, a lost server undef.
    sub number {
        my ($self, $verb, $key, $by) = @_;
        my $number = $self->{client}->$verb($key, $by);
        return defined $number && length $number ? $number : undef;
    }

    sub touch { my ($self, $key, $ttl) = @_; return $self->{client}->touch($key, $ttl) }
    sub gat   { my ($self, $key, $ttl) = @_; return $self->{client}->gat($ttl, $key) }
    sub multi { my ($self, @keys) = @_; return $self->{client}->get_multi(@keys) }
}

package LibMemcached {
    sub can_do { "set get add replace append prepend incr decr delete multi flush" }

    sub new {
        my ($class, $host, $port, $binary) = @_;
        require Memcached::libmemcached;
        my $client = Memcached::libmemcached->new;
        my $set = sub {
            my ($behavior, $value) = @_;
            Memcached::libmemcached->import($behavior);
            $client->memcached_behavior_set(LibMemcached->can($behavior)->(), $value);
        };
        $set->("MEMCACHED_BEHAVIOR_BINARY_PROTOCOL", 1) if $binary;
        $set->("MEMCACHED_BEHAVIOR_TCP_NODELAY", 1);
        $set->("MEMCACHED_BEHAVIOR_RETRY_TIMEOUT", 1);
        $client->memcached_server_add($host, $port);
        return bless { client => $client }, $class;
    }

    # True, false for a miss or a refusal; dies when the server was not reached.
    sub done {
        my ($self, $done) = @_;
        return 1 if $done;
        my $words = $self->{client}->errstr;
        return 0 if $words =~ /NOT FOUND|NOT STORED|EXISTS|NOTFOUND|NOTSTORED|DATA_EXISTS/i;
        die "$words\n";
    }

    sub store {
        my ($self, $verb, $key, $ttl, $value) = @_;
        my $call = "memcached_$verb";
        return $self->done($self->{client}->$call($key, $value, $ttl));
    }

    sub get {
        my ($self, $key) = @_;
        my $value = $self->{client}->memcached_get($key);
        $self->done(defined $value) || return undef;
        return $value;
    }

    sub number {
        my ($self, $verb, $key, $by) = @_;
        my ($call, $number) = ("memcached_${verb}ement", 0);
        return $self->{client}->$call($key, $by, $number) ? $number : undef;
    }

    sub delete { my ($self, $key) = @_; return $self->done($self->{client}->memcached_delete($key)) }
    sub flush  { my ($self) = @_; return $self->done($self->{client}->memcached_flush(0)) }

    sub multi {
        my ($self, @keys) = @_;
        my %found;
        $self->{client}->mget_into_hashref(\@keys, \%found);
        return \%found;
    }
}

package main;

sub make {
    return CacheMemcached->new($host, $port) if $name eq "cache-memcached";
    return CacheMemcachedFast->new($host, $port) if $name eq "cache-memcached-fast";
    return LibMemcached->new($host, $port, $name eq "libmemcached-binary");
}

sub value_reply {
    my ($value) = @_;
    return defined $value ? "value " . encode_base64($value, "") : "none";
}

sub flag_reply { return $_[0] ? "yes" : "no" }

my $client = make();

sub obey {
    my ($verb, @words) = @_;
    if ($verb eq "open") {
        $client = make();
        return "yes";
    }
    return value_reply($client->$verb(@words)) if $verb =~ /^(get|gets|gat)$/;
    return flag_reply($client->$verb(@words)) if $verb =~ /^(touch|delete|flush)$/;
    if ($verb =~ /^(incr|decr)$/) {
        my $number = $client->number($verb, @words);
        return defined $number ? "number " . ($number + 0) : "none";
    }
    if ($verb eq "multi") {
        my $found = $client->multi(@words);
        return join " ", "values", map { "$_=" . encode_base64($found->{$_}, "") } keys %$found;
    }
    return flag_reply($client->store($verb, $words[0], $words[1], decode_base64($words[2] // "")));
}

$| = 1;
$SIG{PIPE} = "IGNORE";
print "ready ", $client->can_do, "\n";
while (my $line = <STDIN>) {
    my $reply = eval { obey(split " ", $line) };
    ($reply = "error $@") =~ s/\s+/ /g unless defined $reply;
    print "$reply\n";
}
